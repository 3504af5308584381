"""Agent programs that work turns."""
