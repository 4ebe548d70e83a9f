"""Where does a model show that its answer is wrong? Probes over layers and tokens with a role."""
