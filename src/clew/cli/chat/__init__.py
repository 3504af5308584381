"""`clew chat`: a conversation with a thread in a terminal.

lines     parses a line: a message, a command, files                           pure
talk      executes a line through the daemon; prints nothing
follower  shows the events of the thread, in a background thread
prompt    the prompt on a terminal                                             prompt_toolkit
plain     one message per line of stdin, without a terminal
"""
