"""The removal of a team's documents: in batches, again after a kill, and of no team with a similar name."""

from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import BATCH, MongoTeamDocuments, any_of, by, by_prefix

NAMES = ("acme", "acme-2", "acme2", "acm", "beta")
OF = {"plain": by("team"), "nested": by("context.team"), "keyed": any_of(by_prefix("x:{team}/"), by_prefix("{team}."))}


async def test_a_teams_documents_go_and_no_others(mongo_url: str, mongo_prefix: str) -> None:
    mongo = Mongo(mongo_url, f"{mongo_prefix}_any")
    for team in NAMES:
        many = [{"_id": f"{team}#{number}", "team": team} for number in range(2 * BATCH + 1 if team == "acme" else 2)]
        await mongo.database["plain"].insert_many(many)
        await mongo.database["nested"].insert_one({"_id": team, "context": {"team": team}})
        await mongo.database["keyed"].insert_many(
            [{"_id": f"x:{team}/a"}, {"_id": f"{team}.b"}, {"_id": f"y:{team}/c"}]
        )
    await mongo.database["other"].insert_one({"_id": "acme"})
    documents = MongoTeamDocuments(mongo.database, {**OF, "other": None})
    for _ in range(2):
        await documents.remove("acme")
    left = {name: [str(each["_id"]) async for each in mongo.database[name].find()] for name in (*OF, "other")}
    others = NAMES[1:]
    assert sorted(left["plain"]) == sorted(f"{team}#{number}" for team in others for number in range(2))
    assert sorted(left["nested"]) == sorted(others)
    keyed = ["y:acme/c", *(each for team in others for each in (f"x:{team}/a", f"{team}.b", f"y:{team}/c"))]
    assert sorted(left["keyed"]) == sorted(keyed)
    assert left["other"] == ["acme"]
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
