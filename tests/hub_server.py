"""The Hugging Face hub on this machine: an HTTP server that speaks its protocol as huggingface_hub 1 and 2 use it.

Read: `GET /api/models/NAME[/revision/REV]`, `.../tree/REV`, and `HEAD` and `GET /NAME/resolve/REV/FILE`. As on the real
hub, large files (LFS) are a redirect to a content server of another origin, which must get no token;
the redirect names hash and size. Written: `repos/create`, `branch`, `validate-yaml`, `preupload`, the LFS batch with
its uploads, and the commit as ndjson. Data sets have `datasets/` before their name. Xet, the protocol in which the real
hub sends large files to clients that know it, is not spoken: tests switch it off.

`hub.faults` changes answers, and `hub.log` holds what was asked.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".safetensors", ".nc")
"""Files that are kept as LFS, as on the real hub those that .gitattributes or their content make so."""
_NAME = r"(?P<name>[\w.-]+(?:/[\w.-]+)?)"


@dataclass
class Repository:
    """A model or data set: files of every commit, and the commits that branches and tags name."""

    commits: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    gated: int | None = None
    """Status of the answer to those who have no access to the files: 401 or 403."""
    private: bool = False

    def commit(self, files: Mapping[str, bytes], ref: str = "main", message: str = "") -> str:
        """Make these files the newest of a branch or tag; returns the commit."""
        content = [self.refs.get(ref, ""), *(f"{path} {git_hash(data)}" for path, data in sorted(files.items()))]
        commit = hashlib.sha1("\n".join(content).encode()).hexdigest()
        self.commits[commit] = dict(files)
        self.refs[ref] = commit
        self.messages.append(message)
        return commit

    def files(self, ref: str = "main") -> Mapping[str, bytes]:
        """Path -> content at a branch, tag or commit."""
        return self.commits[self.refs.get(ref, ref)]


@dataclass
class Fault:
    """What goes wrong with the next `times` requests whose `METHOD path` holds `where`, a regular expression.

    Attributes:
        status: Answer this and nothing else.
    """

    where: str
    status: int
    times: int = 1


@dataclass(frozen=True)
class Request:
    """A request that was answered."""

    method: str
    path: str
    token: str = ""
    status: int = 0


class Hub:
    """Repositories by (kind, name), with kind "model" or "dataset"; tokens -> the namespaces that they may write."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.writers: dict[str, set[str]] = {}
        self.large: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.log: list[Request] = []
        self.lock = threading.Lock()
        self.endpoint = self.content = ""

    def add(self, name: str, files: Mapping[str, bytes], kind: str = "model", **options: Any) -> Repository:
        """A repository with these files on its branch `main`."""
        repository = self.repositories[kind, name] = Repository(**options)
        repository.commit(files)
        return repository

    def fault(self, request: str) -> Fault | None:
        """The fault that is on for a request, which is then used up once."""
        with self.lock:
            for fault in self.faults:
                if fault.times and re.search(fault.where, request):
                    fault.times -= 1
                    return fault
        return None

    def asked(self, where: str) -> list[Request]:
        """Requests whose `METHOD path` holds a regular expression, in their order."""
        return [request for request in self.log if re.search(where, f"{request.method} {request.path}")]


@contextmanager
def serving() -> Iterator[Hub]:
    """A hub that answers within, on two free ports of 127.0.0.1."""
    hub = Hub()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub)) for _ in range(2)]
    hub.endpoint, hub.content = (f"http://127.0.0.1:{server.server_address[1]}" for server in servers)
    threads = [threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield hub
    finally:
        for server, thread in zip(servers, threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


def git_hash(data: bytes) -> str:
    """Hash of a file that git itself keeps."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def sha256(data: bytes) -> str:
    """Hash of a large file."""
    return hashlib.sha256(data).hexdigest()


class _Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, code: str = "", message: str = "", **headers: str) -> None:
        self.status = status
        self.headers = headers | ({"X-Error-Code": code} if code else {})
        self.headers |= {"X-Error-Message": message} if message else {}


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.hub = hub
    return Handler


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._respond()

    do_HEAD = do_POST = do_PUT = do_GET

    def _respond(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        fault = self.hub.fault(f"{self.command} {unquote(self.path)}")
        try:
            if fault is not None:
                raise _Refusal(fault.status, **{"Content-Type": "text/plain"})
            path = unquote(urlsplit(self.path).path)
            for route, answer in _ROUTES.items():
                method, _, pattern = route.partition(" ")
                if self.command in method.split("|") and (match := re.fullmatch(pattern, path)):
                    answer(self, **match.groupdict())
                    return
            raise _Refusal(404, message="no such route")
        except _Refusal as refusal:
            self._send(refusal.status, b"", refusal.headers)

    # ---------------------------------------------------------------------------------------------------- reading
    def _info(self, kind: str, name: str, revision: str | None = None) -> None:
        repository, commit = self._at(kind, name, revision or "main")
        siblings: list[dict[str, Any]] = []
        for path, data in repository.commits[commit].items():
            large = {"sha256": sha256(data), "size": len(data), "pointerSize": 130}
            siblings.append({"rfilename": path, "size": len(data), "blobId": git_hash(data)})
            if path.endswith(LARGE):
                siblings[-1]["lfs"] = large
        if "blobs" not in parse_qs(urlsplit(self.path).query):
            siblings = [{"rfilename": sibling["rfilename"]} for sibling in siblings]
        self._json({"id": name, "sha": commit, "private": repository.private, "siblings": siblings, "tags": []})

    def _tree(self, kind: str, name: str, revision: str) -> None:
        repository, commit = self._at(kind, name, revision)
        entries: list[dict[str, Any]] = []
        for path, data in repository.commits[commit].items():
            entries.append({"type": "file", "path": path, "size": len(data), "oid": git_hash(data)})
            if path.endswith(LARGE):
                entries[-1]["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 130}
        self._json(entries)

    def _resolve(self, kind: str, name: str, revision: str, path: str) -> None:
        repository, commit = self._at(kind, name, revision)
        if repository.gated and self.token not in self.hub.writers:
            raise _Refusal(repository.gated, "GatedRepo", "Access to this repository is restricted.")
        if path not in repository.commits[commit]:
            raise _Refusal(404, "EntryNotFound", **{"X-Repo-Commit": commit})
        data = repository.commits[commit][path]
        if path.endswith(LARGE):
            self.hub.large[sha256(data)] = data
            linked = {"X-Linked-Etag": f'"{sha256(data)}"', "X-Linked-Size": str(len(data)), "X-Repo-Commit": commit}
            self._send(302, b"", linked | {"Location": f"{self.hub.content}/large/{sha256(data)}?file={path}"})
            return
        self._file(data, {"ETag": f'"{git_hash(data)}"', "X-Repo-Commit": commit})

    def _large(self, oid: str) -> None:
        self._file(self.hub.large[oid], {"ETag": f'"{oid}"'})

    def _file(self, data: bytes, headers: dict[str, str]) -> None:
        self._send(200, data, headers)

    # ---------------------------------------------------------------------------------------------------- writing
    def _create(self) -> None:
        wanted = json.loads(self.body)
        name = f"{wanted['organization']}/{wanted['name']}"
        self._check_writer(name)
        kind = wanted.get("type", "model")
        url = {"url": f"{self.hub.endpoint}/{kind}s/{name}"}
        if (kind, name) in self.hub.repositories:
            self._json({"error": "You already created this repo", **url}, status=409)
            return
        attributes = {".gitattributes": "\n".join(f"*{end} filter=lfs" for end in LARGE).encode()}
        self.hub.add(
            name, attributes, kind, private=wanted.get("visibility") == "private" or wanted.get("private", False)
        )
        self._json(url)

    def _branch(self, kind: str, name: str, branch: str) -> None:
        self._check_writer(name)
        repository, commit = self._at(kind, name, "main")
        if branch in repository.refs:
            raise _Refusal(409, message="Reference already exists")
        repository.refs[branch] = commit
        self._json({})

    def _preupload(self, kind: str, name: str, revision: str) -> None:
        self._check_writer(name)
        repository, commit = self._at(kind, name, revision)
        present = repository.commits[commit]
        answers = []
        for file in json.loads(self.body)["files"]:
            path, mode = file["path"], "lfs" if file["path"].endswith(LARGE) else "regular"
            hashed = sha256 if mode == "lfs" else git_hash
            oid = hashed(present[path]) if path in present else None
            answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        self._json({"files": answers})

    def _batch(self, kind: str, name: str) -> None:
        self._check_writer(name)
        objects: list[dict[str, Any]] = []
        for entry in json.loads(self.body)["objects"]:
            objects.append({"oid": entry["oid"], "size": entry["size"]})
            if entry["oid"] not in self.hub.large:
                objects[-1]["actions"] = {"upload": {"href": f"{self.hub.content}/large/{entry['oid']}"}}
        self._json({"transfer": "basic", "objects": objects})

    def _upload(self, oid: str) -> None:
        if sha256(self.body) != oid:
            raise _Refusal(400, message="another hash")
        self.hub.large[oid] = self.body
        self._send(200, b"", {})

    def _commit(self, kind: str, name: str, revision: str) -> None:
        self._check_writer(name)
        repository, commit = self._at(kind, name, revision)
        files, summary = dict(repository.commits[commit]), ""
        for line in self.body.splitlines():
            key, value = (entry := json.loads(line))["key"], entry["value"]
            if key == "header":
                summary = value["summary"]
            elif key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
        oid = repository.commit(files, revision, summary)
        self._json({"success": True, "commitOid": oid, "commitUrl": f"{self.hub.endpoint}/{name}/commit/{oid}"})

    def _validate_yaml(self) -> None:
        content = json.loads(self.body)["content"]
        if not re.match(r"---\n(?s:.*?)\n---\n", content):
            self._json({"errors": [], "warnings": [{"message": "empty or missing yaml metadata in repo card"}]})
            return
        self._json({"errors": [], "warnings": []})

    # ---------------------------------------------------------------------------------------------------- answers
    def _at(self, kind: str, name: str, ref: str) -> tuple[Repository, str]:
        """A repository, and the commit of a revision of it."""
        repository = self.hub.repositories.get((kind, name))
        if self.token and self.token not in self.hub.writers:
            raise _Refusal(401, message="Invalid credentials in Authorization header")
        if repository is None or (repository.private and not self.token):
            raise _Refusal(404, "RepoNotFound", "Repository not found")
        commit = repository.refs.get(ref, ref)
        if commit not in repository.commits:
            raise _Refusal(404, "RevisionNotFound", f"Invalid rev id: {ref}")
        return repository, commit

    def _check_writer(self, name: str) -> None:
        if self.token not in self.hub.writers:
            raise _Refusal(401, message="Invalid credentials in Authorization header")
        if name.split("/")[0] not in self.hub.writers[self.token]:
            raise _Refusal(403, message=f"You don't have the rights to create a repo under {name.split('/')[0]}")

    def _json(self, content: Any, status: int = 200) -> None:
        self._send(status, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.hub.log.append(Request(self.command, unquote(self.path), self.token, status))
        self.wfile.write(b"" if self.command == "HEAD" else body)


_KIND = r"/api/(?P<kind>model|dataset)s/" + _NAME
_KINDS = {"": "model", "datasets/": "dataset"}


def _by_prefix(answer: Any) -> Any:
    return lambda handler, prefix, **match: answer(handler, _KINDS[prefix or ""], **match)


_ROUTES: dict[str, Any] = {
    f"GET {_KIND}(?:/revision/(?P<revision>.+))?": _Handler._info,
    f"GET {_KIND}/tree/(?P<revision>[^/]+)": _Handler._tree,
    f"GET|HEAD /(?P<prefix>datasets/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)": _by_prefix(_Handler._resolve),
    "GET|HEAD /large/(?P<oid>[0-9a-f]+)": _Handler._large,
    "PUT /large/(?P<oid>[0-9a-f]+)": _Handler._upload,
    "POST /api/repos/create": _Handler._create,
    "POST /api/validate-yaml": _Handler._validate_yaml,
    f"POST {_KIND}/branch/(?P<branch>.+)": _Handler._branch,
    f"POST {_KIND}/preupload/(?P<revision>.+)": _Handler._preupload,
    f"POST {_KIND}/commit/(?P<revision>.+)": _Handler._commit,
    f"POST /(?P<prefix>datasets/)?{_NAME}.git/info/lfs/objects/batch": _by_prefix(_Handler._batch),
}
"""`METHOD path` -> what answers; the first that fits."""
