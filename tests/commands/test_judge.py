"""`antiphon judge`: what the page's server gives and refuses, and the report."""

import http.client
import json
import socket
import threading

import pytest

from antiphon.commands import judge
from antiphon.commands.judging import Server
from antiphon.evaluate.study import Study

MARKS = [{"adequacy": 5, "fluency": 4, "rank": 1}, {"adequacy": 2, "fluency": 3, "rank": 2}]


@pytest.fixture
def study(tmp_path):
    answers = {"a": ["one", "<b>two</b>"], "b": ["eins", "zwei"]}
    found = Study.create(tmp_path / "s.db", ["1", "2"], ["i", "ii"], answers, None, 1)
    yield found
    found.close()


@pytest.fixture
def server(study):
    with Server(study, 0) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    if body is not None:
        headers = {"Content_Type": "application/json", **headers}
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    connection.request(method, path, body, names)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer, content


def post(server, content, **headers):
    answer, text = ask(server, "POST", "/marks", json.dumps(content), **headers)
    return answer.status, json.loads(text)


@pytest.mark.parametrize(
    ("path", "kind"), [("/", "text/html"), ("/judge.css", "text/css"), ("/judge.js", "text/javascript")]
)
def test_the_page_and_its_headers(server, path, kind):
    answer, content = ask(server, "GET", path)
    assert (answer.status, answer.getheader("Content-Type")) == (200, f"{kind}; charset=utf-8")
    assert content
    assert answer.getheader("Content-Security-Policy").startswith(
        "default-src 'none'; script-src 'self'; style-src 'self';"
    )
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Server") == "Antiphon "


def test_a_judge_goes_through_the_study(server, study):
    _, text = ask(server, "GET", "/sheet?judge=Ann+M%C3%BCller")
    first = json.loads(text)
    assert (first["done"], first["pairs"], first["sheet"]["number"]) == (0, 2, 0)
    assert sorted(first["sheet"]["answers"]) == ["eins", "one"]
    assert first["sheet"]["reference"] == "i"
    assert not {"a", "b"} & set(text.split('"'))  # no name of a system
    status, second = post(server, {"judge": "Ann Müller", "number": 0, "marks": MARKS})
    assert (status, second["done"], second["sheet"]["number"]) == (200, 1, 1)
    assert post(server, {"judge": "Ann Müller", "number": 1, "marks": MARKS})[1]["sheet"] is None
    _, text = ask(server, "GET", "/sheet?judge=Ann+M%C3%BCller&number=0")
    assert json.loads(text)["sheet"]["marks"] == [[5, 4, 1], [2, 3, 2]]
    assert {mark.judge for mark in study.marks()} == {"Ann Müller"}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "[::1]:{}", ""])
def test_another_host_is_refused(server, host):
    answer, _ = ask(server, "GET", "/", Host=host.format(server.server_port))
    assert answer.status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{}"])
def test_another_origin_is_refused(server, study, origin):
    status, _ = post(server, {"judge": "x", "number": 0, "marks": MARKS}, Origin=origin.format(server.server_port))
    assert (status, study.marks()) == (403, [])


def test_its_own_origin_is_not(server):
    own = f"http://localhost:{server.server_port}"
    assert post(server, {"judge": "x", "number": 0, "marks": MARKS}, Origin=own)[0] == 200


@pytest.mark.parametrize(
    "content",
    [
        [], "x", {}, {"judge": "x"}, {"judge": "x", "number": 0}, {"judge": "x", "number": 0, "marks": MARKS[:1]},
        {"judge": "x", "number": 2, "marks": MARKS}, {"judge": "x", "number": -1, "marks": MARKS},
        {"judge": "x", "number": True, "marks": MARKS}, {"judge": "x", "number": "0", "marks": MARKS},
        {"judge": "", "number": 0, "marks": MARKS}, {"judge": "x" * 101, "number": 0, "marks": MARKS},
        {"judge": "x\u0000", "number": 0, "marks": MARKS}, {"judge": ["x"], "number": 0, "marks": MARKS},
        {"judge": "x", "number": 0, "marks": [MARKS[0], MARKS[1] | {"adequacy": 6}]},
        {"judge": "x", "number": 0, "marks": [MARKS[0], MARKS[1] | {"fluency": 0}]},
        {"judge": "x", "number": 0, "marks": [MARKS[0], MARKS[1] | {"rank": 3}]},
        {"judge": "x", "number": 0, "marks": [MARKS[0], MARKS[1] | {"rank": 1.5}]},
        {"judge": "x", "number": 0, "marks": [MARKS[0], None]}, {"judge": "x", "number": 0, "marks": {"0": 1}},
    ],
)  # fmt: skip
def test_what_is_not_a_sheet_of_marks_is_refused(server, study, content):
    status, answer = post(server, content)
    assert (status, list(answer), study.marks()) == (400, ["error"], [])


def test_other_requests_are_refused(server, study):
    assert ask(server, "GET", "/../pyproject.toml")[0].status == 404
    assert ask(server, "GET", "/sheet")[0].status == 400
    assert ask(server, "GET", "/sheet?judge=x&number=%F0%9D%9F%98")[0].status == 400
    assert ask(server, "GET", "/sheet?judge=x&number=99999999999999999999")[0].status == 400
    assert ask(server, "POST", "/", "{}")[0].status == 404
    assert ask(server, "POST", "/marks", "{}", Content_Type="text/plain")[0].status == 415
    assert ask(server, "POST", "/marks", "{" * 60_000)[0].status == 400
    assert ask(server, "POST", "/marks", "", Content_Length="9" * 5000)[0].status == 413
    assert ask(server, "POST", "/marks", "", Content_Length="-1")[0].status == 413
    assert ask(server, "DELETE", "/")[0].status == 501
    assert study.marks() == []


def test_it_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.2", server.server_port), 1):
        pass


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, text in (("t.tsv", "1\ti\n2\tii\n3\tiii\n"), ("a", "x\ny\nz\n"), ("b", "x\n\nz\n"), ("short", "x\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)

    def stop(server):
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", stop)
    return tmp_path


def test_it_begins_goes_on_and_reports(antiphon, files):
    ended = antiphon("judge", "t.tsv", "a", "b", "--port", 0)
    lines = ended.out.splitlines()
    assert (ended.code, lines[0], lines[-1]) == (
        0,
        "3 pairs, 2 systems, kept in judgements.db",
        "Nothing is judged yet.",
    )
    assert lines[1].startswith("Judge at http://127.0.0.1:")
    assert antiphon("judge", "t.tsv", "a", "b", "--port", 0).code == 0
    study = Study.open(files / "judgements.db")
    for name, best in (("ann", 5), ("bob", 4)):
        for number in range(2):
            systems = study.order(name, number)
            study.save(name, number, [(best, 3 + number, 1) if system == 0 else (2, 3, 2) for system in systems])
    study.close()
    ended = antiphon("judge", "--out", "judgements.db", "--report")
    assert ended.out.splitlines() == [
        "ann judged 2 of 3 pairs",
        "bob judged 2 of 3 pairs",
        "",
        "system  adequacy            fluency             rank                marks",
        "a       4.50 (3.93-5.07)    3.50 (2.93-4.07)    1.00 (1.00-1.00)        4",
        "b       2.00 (2.00-2.00)    3.00 (3.00-3.00)    2.00 (2.00-2.00)        4",
        "",
        "a against b: 4 wins, 0 ties, 0 losses; 100 % of what is not tied (95 %: 51 to 100)",
        "",
        "Agreement on 2 pairs that several judged (1 always, 0 as by chance): adequacy 0.87, fluency 1.00, "
        "ranking cannot be told",
    ]
    found = json.loads(antiphon("judge", "--report", "--json").out)
    assert found["standings"][0]["name"] == "a"
    assert found["wins"][0]["share"]["high"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "words",
    [["--target", "x"], ["--sample", 5], ["--seed", 3], ["--beam", 2], ["--no-reference"]],
    ids=lambda words: words[0],
)
def test_a_study_that_is_there_keeps_what_it_has(antiphon, words):
    ended = antiphon("judge", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"antiphon: {words[0]}: a study that is there keeps its pairs and answers. Leave it out.\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["t.tsv"], "judge: only t.tsv is given. Name the test, then the systems: antiphon judge test.tsv runs/a runs/b"),
        ([], "judgements.db: no such study. Begin one: antiphon judge test.tsv runs/a runs/b --out judgements.db"),
        (["t.tsv", "a", "--report"], "judge: a report needs no systems. Name the study only: antiphon judge --report --out FILE"),
        (["t.tsv", "a", "--sample", "0"], "judge.sample: 0 is not allowed: at least 1."),
        (
            ["t.tsv", "a", "short"],
            "short has 1 line, but t.tsv has 3. Line N of one must answer line N of the other: find the line that is missing.",
        ),
        (
            ["t.tsv", "a", "none"],
            "none: no such system: neither a model folder nor a file of answers. "
            "`antiphon train` makes the one, `antiphon predict` the other.",
        ),
        (
            ["t.tsv", "a", "b", "--port", "99999"],
            "--port 99999: there is no such port. Name one up to 65,535, such as 8091.",
        ),
        (
            ["t.tsv", "a", "b", "--port", "{port}"],
            "judge.port: {port} cannot be listened on (Address already in use). Name another: --port 8091",
        ),
    ],
    ids=["one path", "no study", "report", "sample", "short", "missing", "no port", "port"],
)  # fmt: skip
def test_what_cannot_be_judged(antiphon, files, words, message):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = antiphon("judge", *[word.format(port=port) for word in words])
    assert (ended.code, ended.err) == (2, f"antiphon: {message.format(port=port)}\n")


def test_the_page_may_be_opened(antiphon, files, monkeypatch):
    opened = []
    monkeypatch.setattr(judge.webbrowser, "open", opened.append)
    antiphon("judge", "t.tsv", "a", "--port", 0, "--open")
    assert opened[0].startswith("http://127.0.0.1:")
