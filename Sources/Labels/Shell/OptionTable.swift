import Basics

/// The options of each program that take a value. Without this table their values would count as operands.
enum OptionTable {
    struct Options: Sendable {
        var valued: Set<String> = []
        /// The first operand begins another command: `ssh host ls -l`.
        var stopsAtOperand = false
    }

    static func options(_ program: String, in group: String = "") -> Options { table[group]?[program] ?? Options() }

    /// The names of a row: `NAME NAME` are programs, `GROUP, GROUP > NAME NAME` sub-commands of each group.
    static func names(_ row: Substring) -> (groups: [String], names: [String]) {
        let parts = row.split(separator: ">", maxSplits: 1)
        let groups = parts.count == 1 ? [""] : parts[0].split(separator: ",").map { $0.trimmingBlanks() }
        return (groups, (parts.last ?? "").split(separator: " ").map(String.init))
    }

    private static let table: [String: [String: Options]] = {
        var table: [String: [String: Options]] = [:]
        for row in rows.split(separator: "\n") {
            let sides = row.split(separator: "=", maxSplits: 1)
            let (groups, names) = names(sides[0])
            var valued = Set(sides[1].split(separator: " ").map(String.init))
            let stops = valued.remove("...") != nil
            for group in groups {
                for name in names {
                    table[group, default: [:]][name, default: Options()].valued.formUnion(valued)
                    if stops { table[group, default: [:]][name, default: Options()].stopsAtOperand = true }
                }
            }
        }
        return table
    }()

    /// `NAMES = OPTIONS`; rows of the same name add up. With `...`, another command begins at the first operand.
    private static let rows = """
        aria2c = -o --out -d --dir -x -s -j --header -i
        awk = -F -v -f --field-separator --assign --file
        bash sh zsh dash fish ksh ash = -c -o -O --rcfile --init-file ...
        bat head nl less more = -n --lines -c --bytes -l --language -r --line-range -H --theme --style -b -s -w -v
        caffeinate = -t -w ...
        cargo = -p --package --manifest-path --target --features -j --jobs --bin --example
        conda = -n --name -p -f --file
        curl = -A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --request --data \
        --data-raw --data-binary --data-urlencode --data-ascii --json --form --form-string --upload-file --output \
        --output-dir --header --user --user-agent --cookie --cookie-jar --max-time --connect-timeout --retry \
        --retry-delay --retry-max-time --proxy --proxy-user --cacert --capath --cert --key --resolve --referer \
        --range --write-out --url --config --interface --limit-rate --max-redirs --dump-header --oauth2-bearer \
        --unix-socket --connect-to --ciphers --tls-max --aws-sigv4 --max-filesize --noproxy --variable --rate \
        --continue-at --time-cond --stderr --trace --trace-ascii --pinnedpubkey
        cut = -d -f -c -b --delimiter --fields --characters
        deno = -c --config --import-map
        diff cmp = -U -C -W -x --exclude -I -i -n --label
        doas = -u -C ...
        docker = -c --context -H --host --log-level --config ...
        docker > compose = -f --file -p --project-name --profile --env-file --project-directory --parallel --ansi \
        --progress ...
        docker, docker compose > run create = -f -c -p
        docker, docker compose > run create pull = -e --env --env-file -v --volume --publish --name -w --workdir -u \
        --user --network --net --entrypoint -m --memory --cpus --gpus --mount -h --hostname --label -l --platform \
        --restart --add-host --cap-add --cap-drop --device --dns --ip --log-driver --log-opt --pull --shm-size \
        --tmpfs --ulimit --volumes-from --security-opt --link --expose --pid --ipc --userns --runtime --stop-signal \
        --health-cmd --context -H --host --log-level --file --project-name --profile --progress ...
        du = -d --max-depth --exclude -t
        env = -u --unset -C --chdir -S --split-string ...
        exec = -a ...
        fd = -e --extension -t --type -d --max-depth -E --exclude -x --exec -X --exec-batch -S --size
        file = -m -F -f
        gem = -v --version
        gh = -R --repo -t --title -b --body
        git = -C -c --git-dir --work-tree --namespace --exec-path ...
        git > branch = -u --set-upstream-to --contains --format --sort --merged --no-merged
        git > clone = -b --branch --depth -o --origin -c --config -j --reference --filter
        git > merge = -m --message -s --strategy -X
        git > switch checkout = -c -C -b -B --create --force-create --orphan
        go = -o -tags -run -C -ldflags -count -timeout
        gradle = -p --project-dir -b --build-file -x --exclude-task
        grep = -d -D
        grep rg ag ack = -A -B -C -m -e -f --regexp --file --include --exclude --exclude-dir --max-count --context \
        --after-context --before-context --glob --iglob --type --type-not --max-depth --color --colors --threads \
        --sort --encoding --max-filesize --ignore-file
        gzip bzip2 xz zstd = -S --suffix -o -T
        http https xh = -o --output -a --auth -A --auth-type --session -p --print -s --style --timeout --proxy --cert \
        --verify
        ionice = -c --class -n --classdata -p ...
        jq = --arg --argjson --slurpfile --rawfile --args --jsonargs --indent -f --from-file -L --tab
        ln = -t -S --suffix
        ls = -I --ignore --hide -w --sort --color
        make = -C --directory -f --file --makefile -I -o -W -l
        mdfind = -name -onlyin -s
        mkdir = -m --mode
        mv cp = -t --target-directory -S --suffix
        mvn = -f --file -P --activate-profiles -pl --projects -T --threads -s --settings
        nice = -n --adjustment ...
        node = -e --eval -p --print -pe -r --require --import --loader --experimental-loader --env-file -C \
        --conditions ...
        npm pnpm yarn bun = --prefix -C --cwd --dir --filter -F -w --workspace --registry --tag --loglevel --omit \
        --include --cache
        npx bunx uvx pipx = -p --package -c --call --from --with --python --index-url ...
        open = -a -b
        openclaw = --profile --log-level
        osascript = -e -l ...
        perl = -e -E -I -M ...
        php = -r -d -c ...
        ping dig nslookup = -c -i -t -W -w -s -I -p -q -x -b
        pip uv poetry yum dnf apk gem conda bundle = -r -c -i -t -e
        pip uv poetry yum dnf apk gem conda bundle brew apt = --requirement --constraint --index-url \
        --extra-index-url --target --prefix --python --group --extra --with --source --editable --directory --project \
        --channel --repository
        pip > run = --with --python --group --extra --env-file -n --name --package -p --prefix --from -m ...
        python = -c -W -X -m ...
        rg ag ack = -g -t -T -j -M -E
        rsync = -e --rsh -f --filter --exclude --include --exclude-from --include-from --files-from --bwlimit --port \
        --password-file --timeout --log-file -M --backup-dir --partial-dir --chmod --chown -T --temp-dir
        ruby = -e -r -I -C ...
        scp = -i -P -F -l -o -S -c -J -D -X
        sed = -e --expression -f --file -l
        sftp = -i -P -o -F -b -J -c -S
        shasum = -a
        sort = -k --key -t --field-separator -o --output -S -T
        ssh = -i -p -l -o -F -J -L -R -D -W -b -c -e -m -E -I -O -Q -S -w -B ...
        stat = -c --format -f -t
        stdbuf = -i --input -o --output -e --error ...
        sudo = -u --user -g --group -h --host -p --prompt -C -D --chdir -R -r --role -t --type -T -U ...
        swift = -c --configuration --product --target --package-path --filter -j --jobs --scratch-path -Xswiftc
        systemctl = -H --host -M --machine -t --type -p --property -n
        tail = -n --lines -c --bytes -s --sleep-interval --pid
        tar bsdtar = -f --file -C --directory -T --exclude -X --transform -b -I
        time = -f --format -o --output ...
        timeout gtimeout = -s --signal -k --kill-after ...
        touch = -t -d --date -r --reference -A
        tree = -L -I -P -o --filelimit
        uniq = -f -s -w
        unzip = -d -x -P
        wget = -O -o -P -U -e -t -T -w -Q -a -i -B -D -A -R -I -X -l --output-document --output-file \
        --directory-prefix --user-agent --tries --timeout --wait --post-data --post-file --method --body-data \
        --body-file --header --user --password --http-user --http-password --referer --level --limit-rate \
        --input-file
        xargs = -n --max-args -I -P --max-procs -d --delimiter -L --max-lines -s --max-chars -a --arg-file -E -R ...
        yq = -o --output-format -p --input-format -I --indent --from-file
        zip = -i -x -b -t -tt -n -P --password --exclude
        """
}
