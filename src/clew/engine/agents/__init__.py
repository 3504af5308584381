"""Which agent works on a thread, what it is told of the work of the others, and when: limits of accounts, parked
threads, agents that take over."""
