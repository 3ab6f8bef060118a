"""`rota demo`: one robot, two leads, and the outside parties that hear of them, all for real on this machine."""
