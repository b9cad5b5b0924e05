"""The live pipeline: spans of a running agent in, one report a run out, nothing ever raised into the agent."""
