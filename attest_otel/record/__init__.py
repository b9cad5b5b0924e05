"""The agent's side: agent runs, tool spans, the dispatcher's wrapper, the provider's bytes."""
