"""The account of the example: makes it, and tells what is left of it. Talks to the server as its administrator."""

import json
import sys
import urllib.request

import boto3

REGION = "eu-west-1"
ALLOW = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"%s","Resource":"*"}]}'
DATABASES = [("prod-database-main", "db.r5.4xlarge", 2000), ("staging-analytics", "db.r5.8xlarge", 4000)]


def client(service, endpoint, key="setup", secret="setup"):
    return boto3.client(
        service, endpoint_url=endpoint, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret
    )


def make(endpoint):
    """Two databases, an administrator and a user for agents; from then on the server checks every signature."""
    rds, iam = client("rds", endpoint), client("iam", endpoint)
    for name, size, storage in DATABASES:
        rds.create_db_instance(
            DBInstanceIdentifier=name, DBInstanceClass=size, Engine="postgres", AllocatedStorage=storage,
            MasterUsername="owner", MasterUserPassword="example-only-" + name,
        )
    iam.create_user(UserName="administrator")
    iam.put_user_policy(UserName="administrator", PolicyName="all", PolicyDocument=ALLOW % "*")
    iam.create_user(UserName="agents")
    iam.put_user_policy(UserName="agents", PolicyName="databases", PolicyDocument=ALLOW % "rds:*")
    key = iam.create_access_key(UserName="administrator")["AccessKey"]
    checking = urllib.request.Request(endpoint + "/moto-api/reset-auth", b"0", {"content-type": "text/plain"})
    urllib.request.urlopen(checking, timeout=10).read()
    print(json.dumps({"key": key["AccessKeyId"], "secret": key["SecretAccessKey"], "endpoint": endpoint}))


def databases(administrator):
    rds = client("rds", administrator["endpoint"], administrator["key"], administrator["secret"])
    for database in rds.describe_db_instances()["DBInstances"]:
        print(database["DBInstanceIdentifier"], database["DBInstanceClass"])


def snapshots(administrator):
    rds = client("rds", administrator["endpoint"], administrator["key"], administrator["secret"])
    for snapshot in rds.describe_db_snapshots()["DBSnapshots"]:
        print(snapshot["DBSnapshotIdentifier"], snapshot["DBInstanceIdentifier"])


def keys(administrator):
    iam = client("iam", administrator["endpoint"], administrator["key"], administrator["secret"])
    for key in iam.list_access_keys(UserName="agents")["AccessKeyMetadata"]:
        print(key["AccessKeyId"])


def attempt(administrator, pair):
    """Uses an access key as somebody who kept it would; prints what the server says."""
    key, secret = pair.split(":")
    try:
        client("rds", administrator["endpoint"], key, secret).describe_db_instances()
        print("accepted")
    except Exception as refusal:
        print(refusal)


if __name__ == "__main__":
    command, where = sys.argv[1:3]
    if command == "make":
        make(where)
    else:
        with open(where, encoding="utf-8") as file:
            administrator = json.load(file)
        {"databases": databases, "snapshots": snapshots, "keys": keys, "attempt": attempt}[command](
            administrator, *sys.argv[3:]
        )
