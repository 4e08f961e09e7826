# The verbs. `make run` and `make test` need Swift and nothing else beforehand.
# Without debug information, which costs a tenth of a build; a debugger wants `swift build` by itself.
BUILD := swift build -debug-info-format none
RELEASE := $(BUILD) -c release --static-swift-stdlib --product ladle
export SWIFT_BACKTRACE := enable=no

# The suites that use a database server where one is installed.
SERVER := /(PostgresConnection|ServerStore|OutboxTable|EventLog|SaidTable|TokenTable)Tests\.swift:

.PHONY: run build program check unit integration test lint format docs sanitize contract proof replay explore fuzz bench coverage release deb clean packages

run: program
	@deploy/run

build: packages
	$(BUILD) --product ladle

# Before every push.
check: lint unit

test: unit integration

unit: packages
	@deploy/packages curl openssl
	@deploy/packages postgresql libpq5 || echo "packages: no PostgreSQL server; its tests are left out"
	$(BUILD) --build-tests
	swift test --skip-build --disable-xctest --skip 'IntegrationTests|CutReplayTests'
	Tests/postgres swift test --skip-build --disable-xctest --filter '$(SERVER)'

# One by one: these start the program, or need a whole processor for long.
integration:
	swift test --skip-build --disable-xctest --no-parallel --filter 'IntegrationTests|CutReplayTests'

lint:
	@Tests/lint

format:
	swift format --in-place --recursive --parallel Sources Tests Package.swift

# The table of keys is the last part of its document.
docs: build
	@sed '/^| Key | Flag |/,$$d' docs/configuration.md > .build/configuration.md
	@.build/debug/ladle config reference >> .build/configuration.md
	@mv .build/configuration.md docs/configuration.md

contract: build
	$(BUILD) --product faulty-gateway
	@Tests/Proof/run

sanitize:
	@Tests/sanitize

# Each recording of a gateway, interrupted after every step.
replay: packages
	$(BUILD) --build-tests
	LADLE_REPLAY=all swift test --skip-build --disable-xctest --filter CutReplayTests

# Every order of events in small worlds of each release, against the ledger.
explore: packages
	@Tests/Explore/run $(or $(STATES),100000)

proof: program sanitize fuzz replay explore
	$(BUILD) --product faulty-gateway
	@LADLE=.build/ladle Tests/Proof/run --long

fuzz: packages
	@Tests/Fuzz/run $(or $(SECONDS),60)

bench: program
	@Tests/Benchmarks/run

coverage: packages
	swift test --disable-xctest --enable-code-coverage
	@swift test --show-codecov-path

program: packages
	$(RELEASE)
	@deploy/strip "$$($(RELEASE) --show-bin-path)/ladle" .build/ladle
	@echo "release: .build/ladle, $$(wc -c < .build/ladle | tr -d ' ') bytes"

# The files to publish, in .build/dist. SIGN_KEY=FINGERPRINT signs them.
release: program
	@deploy/release

deb: program
	@deploy/debian/build

clean:
	rm -rf .build

packages:
	@deploy/packages
