"""Large studies: a run on a Ray cluster, the shards of a study, and `hc.plan`. Only the command line imports it."""
