"""The metrics and their meaning; standard library only. Its public names are those of `hitrate_adapters`."""
