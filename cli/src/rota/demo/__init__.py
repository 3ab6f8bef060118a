"""`rota demo`: one robot, two leads, and external systems on this machine that receive the results."""
