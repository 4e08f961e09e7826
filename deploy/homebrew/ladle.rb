# Homebrew formula, written from documentation and not run. For a tap: Formula/ladle.rb, with the release's URL and checksum.
class Ladle < Formula
  desc "Local HTTP and SSE bridge to an OpenClaw gateway"
  homepage "https://github.com/openclaw/openclaw"
  url "https://example.org/ladle/releases/ladle-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "pkgconf" => :build
  depends_on xcode: ["26.0", :build]
  depends_on "libnghttp2"
  depends_on macos: :tahoe
  depends_on "openssl@3"

  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    system "swift", "build", "--disable-sandbox", "-c", "release", "--product", "ladle"
    bin.install ".build/release/ladle"
    generate_completions_from_executable(bin/"ladle", "completions")
    (man1/"ladle.1").write Utils.safe_popen_read(bin/"ladle", "man")
  end

  service do
    run [opt_bin/"ladle", "serve"]
    keep_alive successful_exit: false
    log_path var/"log/ladle.log"
    error_log_path var/"log/ladle.log"
    process_type :background
  end

  test do
    port = free_port
    pid = spawn bin/"ladle", "serve", "--demo", "--state", testpath/"state", "--listen", "127.0.0.1:#{port}"
    begin
      output = shell_output("curl --silent --retry 10 --retry-connrefused http://127.0.0.1:#{port}/healthz")
      assert_match "ok", output
      system bin/"ladle", "status", "--ready", "--state", testpath/"state"
    ensure
      Process.kill "TERM", pid
      Process.wait pid
    end
  end
end
