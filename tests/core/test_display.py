"""An evaluation as a table."""

import pytest

from hitrate_adapters import Run, evaluate

RUN = {"q1": ["d1", "d2", "d3", "d4", "d5"], "q2": ["d6", "d7", "d8", "d9", "d10"]}
TABLE = """\
                             @1              @5             all
hit_rate                  0.000           0.500           0.500
  95 % interval  [0.000, 0.658]  [0.095, 0.905]  [0.095, 0.905]
recall                    0.000           0.250           0.250
precision                 0.000           0.100           0.100
mrr                       0.000           0.250           0.250
map                       0.000           0.125           0.125
ndcg                      0.000           0.193           0.193
2 queries scored"""


@pytest.fixture
def evaluation():
    return evaluate({"q1": {"d2", "d7"}, "q2": {"d1", "d11"}}, RUN)


def notes(evaluation):
    return evaluation.table(1).splitlines()[8:]


def test_a_table_has_a_row_per_metric_and_a_column_per_cutoff(evaluation):
    assert evaluation.table((1, 5, None)) == TABLE


def test_a_printed_evaluation_is_the_table_at_1_3_5_and_10(evaluation):
    assert str(evaluation) == evaluation.table((1, 3, 5, 10))
    assert str(evaluation).split()[:4] == ["@1", "@3", "@5", "@10"]


def test_a_table_of_one_cutoff(evaluation):
    assert evaluation.table(5).splitlines()[0].split() == ["@5"]


def test_columns_are_as_wide_as_their_cells():
    lines = evaluate({"q": ["a"]}, {"q": ["a"]}).table((1, 10**20)).splitlines()[:8]
    assert len({len(line) for line in lines}) == 1


def test_a_table_of_a_single_query_says_query():
    assert notes(evaluate({"q": ["a"]}, {"q": ["a"]})) == ["1 query scored"]


def test_a_table_names_the_queries_without_relevant_items():
    evaluation = evaluate({"q1": ["a"], "q2": []}, {"q1": ["a"], "q9": []})
    assert notes(evaluation) == [
        "1 query scored",
        "1 query without relevant items, left out of every mean: q2",
        "1 query without judgements, left out of every mean: q9",
    ]


def test_a_table_names_the_missing_queries():
    evaluation = evaluate({"q1": ["a"], "q2": ["a"]}, {"q1": ["a"]})
    assert notes(evaluation) == ["2 queries scored", "1 query not in the run, counted as a miss: q2"]


def test_a_table_names_the_queries_whose_retrieval_failed():
    evaluation = evaluate({"q1": ["a"], "q2": ["a"]}, Run({"q1": ["a"], "q2": []}, {"q2": OSError()}))
    assert notes(evaluation) == ["2 queries scored", "1 query whose retrieval failed, counted as a miss: q2"]


def test_a_table_names_five_queries_at_most():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], **{number: [] for number in range(6)}})
    assert notes(evaluation)[1] == "6 queries without judgements, left out of every mean: 0, 1, 2, 3, 4, ..."


def test_a_table_names_all_of_five_queries():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], **{number: [] for number in range(5)}})
    assert notes(evaluation)[1] == "5 queries without judgements, left out of every mean: 0, 1, 2, 3, 4"


def test_a_table_shortens_a_long_query_id():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], "x" * 1000: []})
    assert notes(evaluation)[1] == f"1 query without judgements, left out of every mean: {'x' * 57}..."


def test_a_query_id_with_line_breaks_stays_on_its_line():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], "two\nlines": []})
    assert notes(evaluation)[1] == "1 query without judgements, left out of every mean: two lines"


def test_a_notebook_shows_the_same_table(evaluation):
    page = evaluation._repr_html_()
    assert page.startswith("<table><thead><tr><th></th><th>@1</th><th>@3</th><th>@5</th><th>@10</th></tr></thead>")
    assert "<tr><td>mrr</td><td>0.000</td><td>0.250</td><td>0.250</td><td>0.250</td></tr>" in page
    assert page.endswith("<p>2 queries scored</p>")
    assert page.count("<tr>") == page.count("</tr>") == 8


def test_a_notebook_shows_query_ids_as_text():
    evaluation = evaluate({"q": ["a"]}, {"q": ["a"], "<script>\"&'</script>": []})
    page = evaluation._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;&quot;&amp;&#x27;&lt;/script&gt;" in page


@pytest.mark.parametrize("k", [(), []], ids=repr)
def test_a_table_of_no_cutoff_is_refused(evaluation, k):
    with pytest.raises(ValueError, match="at least one metric and one k"):
        evaluation.table(k)
