"""What the live pipeline must survive: the properties and the bugs of real pipelines, one test or more each."""
