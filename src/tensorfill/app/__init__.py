"""`tensorfill app`: a page in the browser, served on this computer alone.

    browser  <-- HTTP on loopback -->  server  <-- JSON -->  one worker process for each open file

The server holds no data: a file lives in the memory of its worker process from upload to download, so that closing it
frees that memory, and a run that fails harms nothing else.
"""
