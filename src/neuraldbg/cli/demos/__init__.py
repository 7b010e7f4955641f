"""Small networks that fail, one per kind of failure and per file.

Each has ``STEPS``, ``PLANTED`` (the fault, in one sentence) and ``train(steps)``, which trains once per item of
``steps`` and returns the NeuralDbg that watched. They are written as a user would write them; torch is imported inside.
"""
