"""End to end: the real Collector, Jaeger and Prometheus as processes on loopback."""
