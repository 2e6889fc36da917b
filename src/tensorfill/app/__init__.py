"""`tensorfill app`: a page in the browser, served on this computer alone.

    browser  <-- HTTP on loopback -->  server  <-- lines of JSON -->  one child process for each file

The server knows no data: a file lives in the memory of its child from the first look at it to the download, so that
closing it frees that memory, and a run that goes wrong harms nothing else.
"""
