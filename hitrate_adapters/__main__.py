"""`python -m hitrate_adapters`: the `hitrate` command."""

from hitrate_adapters.cli import main

if __name__ == "__main__":
    main()
