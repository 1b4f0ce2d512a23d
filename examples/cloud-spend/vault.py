"""Stands in for Vault's AWS engine (or OpenBao's): makes an IAM access key under a lease, and deletes it when the lease is revoked.

Answers as Vault's HTTP API documents: `GET /v1/aws/creds/agents`, `PUT /v1/sys/leases/renew`, `PUT /v1/sys/leases/revoke`. The keys are
real ones of the account's server.
"""

import http.server
import json
import sys

import boto3


class Handler(http.server.BaseHTTPRequestHandler):
    iam = None
    token = ""
    issued = ""
    leases = {}

    def do_GET(self):
        if self.path != "/v1/aws/creds/agents":
            return self.answer(404, {"errors": []})
        if not self.allowed():
            return None
        key = self.iam.create_access_key(UserName="agents")["AccessKey"]
        lease = f"aws/creds/agents/{len(self.leases)}-{key['AccessKeyId']}"
        self.leases[lease] = key["AccessKeyId"]
        # Only for the example, which shows afterwards that the key is dead.
        with open(self.issued, "a", encoding="utf-8") as file:
            file.write(f"{key['AccessKeyId']}:{key['SecretAccessKey']}\n")
        data = {"access_key": key["AccessKeyId"], "secret_key": key["SecretAccessKey"], "security_token": None}
        return self.answer(200, {"lease_id": lease, "renewable": True, "lease_duration": 600, "data": data})

    def do_PUT(self):
        if not self.allowed():
            return None
        length = min(int(self.headers.get("content-length", 0)), 65536)
        lease = json.loads(self.rfile.read(length) or b"{}").get("lease_id")
        if lease not in self.leases:
            return self.answer(400, {"errors": ["invalid lease"]})
        if self.path == "/v1/sys/leases/renew":
            return self.answer(200, {"lease_id": lease, "renewable": True, "lease_duration": 600})
        if self.path == "/v1/sys/leases/revoke":
            self.iam.delete_access_key(UserName="agents", AccessKeyId=self.leases.pop(lease))
            return self.answer(204, None)
        return self.answer(404, {"errors": []})

    def allowed(self):
        if self.headers.get("x-vault-token") == self.token:
            return True
        self.answer(403, {"errors": ["permission denied"]})
        return False

    def answer(self, status, document):
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    administrator, token, issued, port = sys.argv[1:5]
    with open(administrator, encoding="utf-8") as file:
        known = json.load(file)
    with open(token, encoding="utf-8") as file:
        Handler.token = file.read().strip()
    Handler.issued = issued
    Handler.iam = boto3.client(
        "iam", endpoint_url=known["endpoint"], region_name="eu-west-1",
        aws_access_key_id=known["key"], aws_secret_access_key=known["secret"],
    )
    http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
