"""What deploy/ has for macOS, as far as another system can tell: the property list is well formed and starts a command the
program has; the formula is loaded by Ruby, its test is run, and its completions and manual page are made."""

import pathlib
import plistlib
import re
import subprocess

from harness import LADLE, ROOT, Tally, options, run_ladle, scratch

options()
tally = Tally()

# launchd.plist(5): each key with its kind.
KEYS = {
    "Label": str, "ProgramArguments": list, "RunAtLoad": bool, "KeepAlive": dict, "ThrottleInterval": int, "ExitTimeOut": int,
    "ProcessType": str, "Sockets": dict, "Umask": int, "SoftResourceLimits": dict, "StandardOutPath": str, "StandardErrorPath": str,
}
file = ROOT / "deploy/launchd/org.ladle.bridge.plist"
agent = plistlib.loads(file.read_bytes())
wrong = [key for key, value in agent.items() if not isinstance(value, KEYS.get(key, ()))]
tally.check(not wrong, f"launchd knows these, of this kind; not {wrong}")
tally.check(file.name == agent["Label"] + ".plist", "the file is named by its label")
tally.check(agent["ProcessType"] in ("Background", "Standard", "Adaptive", "Interactive"), "ProcessType")
tally.check(agent["Umask"] == 0o077, "nobody else reads its files")
tally.check(agent["KeepAlive"] == {"SuccessfulExit": False}, "started again when it fails")
help_ = run_ladle(*agent["ProgramArguments"][1:], "--help")
tally.check(help_.returncode == 0, f"{agent['ProgramArguments']} is a command")

# The formula under a Homebrew of a few lines.
HOMEBREW = r'''
require "pathname"; require "open3"; require "socket"
class Formula
  class << self
    attr_reader :facts, :tests, :serving
    %i[desc homepage url sha256 license].each { |n| define_method(n) { |v| (@facts ||= {})[n] = v } }
    def depends_on(v) = ((@facts ||= {})[:depends] ||= []) << v
    def uses_from_macos(v) = depends_on(v)
    def test(&b) = @tests = b
    def service(&b) = (@serving = Service.new; @serving.instance_eval(&b))
  end
  class Service
    attr_reader :set
    def method_missing(n, *v, **k) = (n == :opt_bin || n == :var) ? Pathname("/opt/homebrew/#{n}") : ((@set ||= {})[n] = v.first || k)
    def respond_to_missing?(*) = true
  end
  def initialize(ladle, prefix) = (@ladle, @prefix = ladle, Pathname(prefix))
  def bin = Pathname(File.dirname(@ladle))
  def man1 = (@prefix/"man1").tap(&:mkpath)
  def testpath = @prefix
  def free_port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
  def shell_output(c) = `#{c}`.tap { raise "#{c}: #{$?}" unless $?.success? }
  def assert_match(a, b) = (raise "#{b} has no #{a}" unless b.match?(a))
  def system(*c) = (Kernel.system(*c.map(&:to_s)) or raise "#{c}: #{$?}")
  def spawn(*c) = Kernel.spawn(*c.map(&:to_s), out: File::NULL, err: File::NULL)
end
load ARGV[0]
formula = Ladle.new(ARGV[1], ARGV[2])
formula.instance_eval(&Ladle.tests)
puts "tested", Ladle.facts.keys.join(" "), Ladle.serving.set.keys.join(" "), Ladle.serving.set[:run].join(" ")
'''
formula = ROOT / "deploy/homebrew/ladle.rb"
subprocess.run([ROOT / "deploy/packages", "ruby"], check=True)
stub = pathlib.Path(scratch(), "homebrew.rb")
stub.write_text(HOMEBREW)
read = subprocess.run(["ruby", "-wc", formula], capture_output=True, text=True)
tally.check(read.returncode == 0 and "Syntax OK" in read.stdout and not read.stderr, f"ruby -wc: {read}")
tested = subprocess.run(["ruby", stub, formula, LADLE, scratch()], capture_output=True, text=True, timeout=90)
lines = tested.stdout.splitlines()
tally.check(tested.returncode == 0 and "tested" in lines, f"its test passes: {tested}")
if "tested" in lines:
    facts, service, run = lines[lines.index("tested") + 1:]
    tally.check(set(facts.split()) >= {"desc", "homepage", "url", "sha256", "license", "depends"}, f"it says what a formula must: {facts}")
    tally.check(set(service.split()) >= {"run", "keep_alive", "log_path"} and run.endswith("/ladle serve"), f"its service: {service} {run}")
text = formula.read_text()
version = re.search(r'text = "(.*)"', (ROOT / "Sources/ladle/Version.swift").read_text()).group(1)
tally.check(f"ladle-{version}.tar.gz" in text, "it is of this version")
needed = re.findall(r'library\("\w+", pkgConfig: "[^"]+", apt: "[^"]+", brew: "([^"]+)"\)', (ROOT / "Package.swift").read_text())
for name in needed:
    tally.check(f'"{name}"' in text, f"it depends on {name}")
for command in re.findall(r'bin/"ladle", "(\w+)"', text):
    if command in ("completions", "man"):
        words = [command, "zsh"] if command == "completions" else [command]
        made = run_ladle(*words)
        tally.check(made.returncode == 0 and len(made.stdout) > 1000, f"ladle {command} gives what it installs")

# Shell files of deploy/ are read by a shell.
for file in ("run", "packages", "tailscale/serve.sh", "debian/build", "debian/postinst", "debian/prerm", "debian/postrm"):
    read = subprocess.run(["sh", "-n", ROOT / "deploy" / file], capture_output=True, text=True)
    tally.check(read.returncode == 0, f"deploy/{file}: {read.stderr}")
tally.end()
