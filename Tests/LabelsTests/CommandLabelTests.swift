import Basics
import TestSupport
import Testing

@testable import Labels

struct CommandLabelTests {
    private func label(_ command: String) -> String { CommandLineLabel.label(of: command).active }

    private static let everyday: [(String, String)] = [
        // Redirects
        ("echo a>out.txt", "Writing out.txt"),
        ("echo a >| out.txt", "Writing out.txt"),
        ("make 1>build.log", "Writing build.log"),
        ("make &> build.log", "Writing build.log"),
        ("make &>> build.log", "Appending to build.log"),
        ("make > build.log 2>&1", "Writing build.log"),
        ("some-tool 2> errors.log", "Running some-tool"),
        ("some-tool >&2", "Running some-tool"),
        ("sort < names.txt", "Processing text"),
        ("cat <<< hello", "Reading input"),
        ("> empty.txt", "Writing empty.txt"),
        ("cat a b > \"my file.txt\"", "Writing my file.txt"),
        ("echo hi > $HOME/x.txt", "Writing a file"),
        ("echo 'a > b'", "Printing text"),
        ("echo a \\> b", "Printing text"),
        ("cat <<'A' <<B > out.md\none\nA\ntwo\nB", "Writing out.md"),
        ("cat <<-EOF >> log.md\n\tline > x\n\tEOF\nls", "Appending to log.md"),
        ("diff <(sort a) <(sort b)", "Comparing files"),
        ("tee notes.md < in", "Writing notes.md"),
        ("date | tee -a log.txt", "Appending to log.txt"),
        ("npm test | tee /dev/null", "Running tests"),
        // Editing
        ("sed -i 's/a/b/' config.yml", "Editing config.yml"),
        ("sed -i '' -e 's/a/b/' config.yml", "Editing config.yml"),
        ("sed -i.bak -E 's/a/b/' a.txt b.txt", "Editing a.txt and 1 more"),
        ("perl -pi -e 's/a/b/' a.txt", "Editing a.txt"),
        (
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.ts\n*** Add File: b.ts\n*** End Patch\nEOF",
            "Editing a.ts and 1 more"
        ),
        ("apply_patch < change.patch", "Applying a patch"),
        // Reading
        ("head -n 20 README.md", "Reading README.md"),
        ("head -20 README.md", "Reading README.md"),
        ("tail -n 50 -F app.log", "Watching app.log"),
        ("sed -n '1,20p' main.swift", "Reading main.swift"),
        ("cat a.txt b.txt c.txt", "Reading a.txt and 2 more"),
        ("cat \"$FILE\" notes.md", "Reading notes.md"),
        ("cat", "Reading input"),
        ("less +G /var/log/system.log", "Reading system.log"),
        ("awk '{print $1}' data.csv", "Processing data.csv"),
        ("sort -u names.txt", "Processing names.txt"),
        ("jq '.a' package.json", "Processing package.json"),
        ("jq -n '{}'", "Processing data"),
        ("diff old.txt new.txt", "Comparing old.txt and new.txt"),
        // Listing and checking
        ("ls ~", "Listing home folder"),
        ("ls .", "Listing this folder"),
        ("ls src tests", "Listing src and 1 more"),
        ("tree -L 2 src", "Listing src"),
        ("pwd", "Checking current folder"),
        ("stat a.txt", "Checking a.txt"),
        ("du -sh build", "Checking build"),
        ("sha256sum a.iso", "Checking a.iso"),
        ("test -f config.json", "Checking config.json"),
        ("df -h", "Checking disk space"),
        ("which python3", "Looking for python3"),
        ("command -v jq", "Looking for jq"),
        ("whoami", "Checking system info"),
        ("env", "Checking system info"),
        ("top -b -n 1", "Checking running processes"),
        ("kill -9 1234", "Stopping a process"),
        // Searching
        ("rg -n 'func main' Sources", "Searching for \"func main\""),
        ("grep -e alpha -e beta notes.txt", "Searching for \"alpha\""),
        ("git grep -n needle", "Searching for \"needle\""),
        ("grep \"$PATTERN\" x", "Searching files"),
        ("find . -iname \"*.MD\" -type f", "Looking for files named \"*.MD\""),
        ("find . -name '*.o' -delete", "Deleting files"),
        ("find . -name '*.o' -exec rm {} \\;", "Deleting files"),
        ("find . -name '*.log' -exec grep x {} +", "Looking for files named \"*.log\""),
        ("find . -type f", "Looking for files in this folder"),
        ("fd '\\.swift$' src", "Looking for files named \"\\.swift$\""),
        // Managing
        ("mkdir -p -m 755 a b", "Creating folder a and 1 more"),
        ("rm -rf -- -odd", "Deleting -odd"),
        ("rm \"$X\"", "Deleting files"),
        ("rmdir old", "Deleting old"),
        ("ln -s ../shared shared", "Linking shared"),
        ("chown -R www:www site", "Changing permissions on site"),
        ("chmod -x run.sh", "Changing permissions on run.sh"),
        ("mv src/a.ts src/b.ts", "Renaming a.ts to b.ts"),
        ("mv a.md docs/b.md", "Moving a.md to b.md"),
        ("mv a b c docs/", "Moving 3 items to docs"),
        ("mv -t docs a b", "Moving 2 items to docs"),
        ("cp -r src /backup/", "Copying src to backup"),
        ("cp a.txt \"$DEST\"", "Copying a.txt to a file"),
        ("cp a.txt .", "Copying a.txt to this folder"),
        ("scp web1:/var/log/app.log .", "Copying app.log from web1"),
        ("rsync -avz -e 'ssh -p 22' site/ deploy@web1.example.com:/srv/", "Copying site to web1.example.com"),
        ("tar xzf dist.tar.gz", "Extracting dist.tar.gz"),
        ("tar -czf backup.tgz -C /srv data", "Archiving backup.tgz"),
        ("tar tf a.tar", "Listing a.tar"),
        ("unzip -o a.zip -d out", "Extracting a.zip"),
        ("gzip -9 big.log", "Archiving big.log"),
        ("gunzip a.gz", "Extracting a.gz"),
        // Network
        ("curl", "Fetching data"),
        ("curl -d @body.json https://api.example.com/x", "Sending data to api.example.com"),
        ("curl -F file=@a.png https://up.example.com", "Sending data to up.example.com"),
        ("curl -T a.bin ftp.example.com", "Sending data to ftp.example.com"),
        ("curl -X DELETE https://api.example.com/1", "Sending data to api.example.com"),
        ("curl -G -d q=1 https://api.example.com", "Fetching from api.example.com"),
        ("curl -I https://example.com", "Fetching from example.com"),
        ("curl -sLo page.html https://example.com/", "Downloading page.html"),
        ("curl -so /dev/null -w '%{http_code}' https://example.com", "Fetching from example.com"),
        ("curl https://EXAMPLE.com:8443/x", "Fetching from example.com"),
        ("curl \"https://api.example.com/$ID\"", "Fetching from api.example.com"),
        ("curl http://[::1]:8080/", "Fetching from [::1]"),
        ("curl -s https://a.example/x | jq . > out.json", "Writing out.json"),
        ("curl -fsSL https://get.example.com/i.sh | sh", "Fetching from get.example.com"),
        ("wget -O - https://example.org/x", "Fetching from example.org"),
        ("wget -O page.html https://example.org/x", "Downloading page.html"),
        ("http POST api.example.com/items name=x", "Sending data to api.example.com"),
        ("http api.example.com/items name=x", "Sending data to api.example.com"),
        ("http api.example.com/items q==x", "Fetching from api.example.com"),
        ("xh :3000/health", "Fetching from localhost"),
        ("aria2c https://example.org/a.iso", "Downloading a.iso"),
        ("npx agent-browser open 'https://x.example/?a=1&q=a%20b'", "Searching \"a b\""),
        ("npx agent-browser open 'https://x.example/?q=5%+5+%4'", "Searching \"5% 5 %4\""),
        ("ssh -p 2222 -i k root@10.0.0.5", "Connecting to 10.0.0.5"),
        ("ssh host.example ls -la /tmp > out.txt", "Running a command on host.example"),
        ("ping -c 3 example.com", "Checking example.com"),
        ("dig +short @1.1.1.1 example.com", "Checking example.com"),
        ("tailscale status", "Checking network"),
        // git
        ("git -C /srv/app status", "Checking git status"),
        ("git -c user.name=x commit -m 'a > b'", "Committing changes"),
        ("git add -A && git commit -m x && git push", "Pushing changes"),
        ("git diff HEAD~1", "Reviewing changes"),
        ("git log --oneline | head", "Reading git history"),
        ("git clone git@github.com:acme/widgets.git w", "Cloning widgets"),
        ("git checkout main", "Switching to main"),
        ("git checkout -b feature/x", "Creating branch feature/x"),
        ("git checkout -- a.txt", "Restoring files"),
        ("git merge --no-ff dev", "Merging dev"),
        ("git rebase -i HEAD~3", "Rebasing"),
        ("git stash pop", "Stashing changes"),
        ("git reset --hard", "Restoring files"),
        ("git branch -a", "Listing branches"),
        ("git tag v1", "Tagging"),
        ("git init", "Creating git repository"),
        ("git bisect start", "Running git bisect"),
        ("gh pr create --title 'x'", "Creating pull request"),
        ("gh pr list", "Checking pull requests"),
        ("gh issue create", "Creating issue"),
        ("gh issue view 4", "Checking issues"),
        ("gh auth status", "Using GitHub"),
    ]

    @Test(arguments: everyday)
    func `a command line is named by what it does`(command: String, expected: String) {
        #expect(label(command) == expected)
    }

    private static let others: [(String, String)] = [
        // Packages
        ("npm i -D @types/node@20 typescript", "Installing @types/node and 1 more"),
        ("npm ci", "Installing dependencies"),
        ("yarn", "Installing dependencies"),
        ("yarn add left-pad@1.3.0", "Installing left-pad"),
        ("pnpm run lint:fix", "Checking code style"),
        ("npm run test:unit", "Running tests"),
        ("npm start", "Starting the app"),
        ("bun dev", "Starting the app"),
        ("npm run deploy", "Running script deploy"),
        ("pip3 install 'requests[socks]>=2.0'", "Installing requests[socks]"),
        ("pip install -e .", "Installing dependencies"),
        ("uv pip install httpx", "Installing httpx"),
        ("uv run pytest -q", "Running tests"),
        ("poetry run python tool.py", "Running tool.py"),
        ("poetry add fastapi", "Installing fastapi"),
        ("apt-get update", "Updating packages"),
        ("sudo apt-get install -y curl git", "Installing curl and 1 more"),
        ("sudo -u www -E apt remove nginx", "Removing nginx"),
        ("brew upgrade", "Updating packages"),
        ("brew list", "Checking packages"),
        ("gem install rails -v 7", "Installing rails"),
        ("bundle install", "Installing dependencies"),
        ("bundle exec rspec", "Running tests"),
        ("npx -y playwright test", "Running tests"),
        ("npx create-react-app@latest my-app", "Running create-react-app"),
        ("uvx ruff check", "Running ruff"),
        // Builds and tests
        ("cargo test --all", "Running tests"),
        ("cargo build --release", "Building"),
        ("swift test --filter X", "Running tests"),
        ("mvn -q clean package", "Building"),
        ("./gradlew test", "Running tests"),
        ("make", "Building"),
        ("make -j4 all", "Building"),
        ("make deploy", "Running make deploy"),
        ("make test", "Running tests"),
        ("python -m unittest", "Running tests"),
        // Containers and services
        ("docker compose -f a.yml up -d", "Starting containers"),
        ("docker-compose down", "Stopping containers"),
        ("docker build -t x .", "Building image"),
        ("docker ps -a", "Checking containers"),
        ("docker pull redis:7", "Pulling image redis"),
        ("docker run -d --name db -p 5432:5432 -e POSTGRES_PASSWORD=x postgres:16", "Running container postgres"),
        ("systemctl restart nginx", "Restarting nginx"),
        ("systemctl --user status ladle", "Checking ladle"),
        ("service nginx stop", "Stopping nginx"),
        // Interpreters
        ("python3.11 app.py", "Running app.py"),
        ("python3 - <<EOF\nprint(1)\nEOF", "Running a Python script"),
        ("python -m http.server 8000", "Starting a web server"),
        ("python3 -m venv .venv", "Creating a virtual environment"),
        ("python3 -m pip install flask", "Installing flask"),
        ("node -e 'x => x > 2'", "Running a JavaScript script"),
        ("node --max-old-space-size=4096 build.js", "Running build.js"),
        ("ruby -ne 'print' a.txt", "Running a Ruby script"),
        ("./scripts/deploy.sh prod", "Running deploy.sh"),
        ("/opt/tools/run.py", "Running run.py"),
        ("/usr/local/bin/mycli x", "Running mycli"),
        ("osascript -e 'beep'", "Running an AppleScript script"),
        // Nesting, wrappers, keywords
        ("bash -lc 'npm install && npm test'", "Installing dependencies"),
        ("sh -c \"bash -c 'git push'\"", "Pushing changes"),
        ("bash -c \"$CMD\"", "Running a shell script"),
        ("bash -euo pipefail -c 'make test'", "Running tests"),
        ("eval \"git status\"", "Checking git status"),
        ("timeout 30 curl -s https://a.example", "Fetching from a.example"),
        ("timeout -k 5 30s npm test", "Running tests"),
        ("nohup node server.js &", "Running server.js"),
        ("time make build", "Building"),
        ("env -u BAR FOO=1 npm run build", "Building"),
        ("FOO=1 BAR=\"$(date)\" python x.py", "Running x.py"),
        ("cat list | xargs -n1 -I{} curl -s {}", "Fetching data"),
        ("ls | xargs cat", "Listing files"),
        ("if [ -f a ]; then rm a; else touch a; fi", "Deleting a"),
        ("while true; do date; sleep 5; done", "Checking the time"),
        ("for i in 1 2 3; do curl -s https://a.example/$i; done", "Fetching from a.example"),
        ("(cd sub && make test)", "Running tests"),
        ("f() { git push; }; f", "Pushing changes"),
        ("case $1 in start) systemctl start x;; esac", "Starting x"),
        ("export A=1; set -e; cd /tmp", "Running a command"),
        ("cd /srv/app", "Opening folder app"),
        ("cd ~", "Opening home folder"),
        ("A=1", "Running a command"),
        ("$TOOL --x", "Running a command"),
        ("'git push'", "Running a command"),
        ("bash --rcfile x -c 'git push'", "Pushing changes"),
        ("ThisNameIsMuchTooLongToShow", "Running a command"),
        ("echo a; ls; cat x", "Reading x"),
        ("ls && pwd", "Listing files"),
        ("sleep 0.5", "Waiting 0.5s"),
        ("sleep 2m", "Waiting 2m"),
        ("open https://a.example/x", "Opening a.example"),
        ("open -a Safari", "Opening Safari"),
        ("psql -c 'select 1'", "Querying the database"),
        ("ffmpeg -i a.mov b.mp4", "Converting media"),
        ("openclaw gateway restart", "Running openclaw gateway"),
        ("", "Running a command"),
        ("   # only a comment", "Running a command"),
        ("'unfinished", "Running unfinished"),
        ("cat \"a", "Reading a"),
        ("$(", "Running a command"),
        ("<<", "Running a command"),
        ("| | |", "Running a command"),
    ]

    @Test(arguments: others)
    func `packages, builds, wrappers and odd lines are named too`(command: String, expected: String) {
        #expect(label(command) == expected)
    }

    @Test func `a label stays short, on one line and without control characters`() {
        let long = String(repeating: "x", count: 300)
        #expect(label("cat \(long).md").count <= 80)
        #expect(label("grep 'a\nb\u{1B}[31mc\u{202E}d' x") == "Searching for \"a b [31mc d\"")
        #expect(label("cat 'a\nb'") == "Reading a b")
    }

    @Test func `deep nesting and huge lines end`() {
        var nested = "git push"
        for _ in 0..<8 { nested = "bash -c '" + nested.replacingText("'", with: "'\\''") + "'" }
        #expect(!label(nested).isEmpty)
        #expect(!label(String(repeating: "(", count: 40_000)).isEmpty)
        #expect(!label(String(repeating: "$(", count: 40_000)).isEmpty)
        #expect(label(String(repeating: "ls; ", count: 40_000)) == "Listing files")
    }

    @Test func `random command lines are always named`() {
        var random = SeededRandom(11)
        let pieces = [
            "git", "push", " ", " ", "\n", "'", "\"", "$(", ")", "`", "|", "&&", ";", ">", ">>", "<<EOF", "EOF", "\\",
            "{", "}", "cat", "a.md",
            "-e", "--", "bash -c", "é", "\u{202E}", "#", "${x", "2>&1", "sudo", "env", "xargs", "=", "A=b",
            "find . -exec", "curl -o", "docker run",
        ]
        for _ in 0..<4_000 {
            var line = ""
            for _ in 0..<random.next() % 14 { line += pieces.randomElement(using: &random) ?? "" }
            let label = CommandLineLabel.label(of: line)
            #expect(!label.active.isEmpty && label.active.count <= LabelLimits.characters)
            #expect(!label.active.unicodeScalars.contains { $0.value < 0x20 })
            _ = SecretMask.text(line)
            _ = label.done(milliseconds: 5)
        }
    }
}
