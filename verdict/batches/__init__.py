"""Many pairs of plans and programs at once: what a project lists, shards of it, and their merged results."""
