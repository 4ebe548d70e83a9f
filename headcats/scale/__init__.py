"""Large studies: checkpoints, clusters, shards and merges, and `hc.plan`. Only the command line imports it."""
