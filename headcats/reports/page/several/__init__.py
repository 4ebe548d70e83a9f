"""The page of several runs: their maps side by side, what agrees and what moves."""
