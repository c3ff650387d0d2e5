class Planwright < Formula
  desc "Runs plans of tool calls over MCP servers"
  homepage "REPOSITORY"
  version "VERSION"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "REPOSITORY/releases/download/vVERSION/planwright-aarch64-apple-darwin.tar.gz"
      sha256 "SHA256 aarch64-apple-darwin"
    end
    on_intel do
      url "REPOSITORY/releases/download/vVERSION/planwright-x86_64-apple-darwin.tar.gz"
      sha256 "SHA256 x86_64-apple-darwin"
    end
  end

  on_linux do
    on_arm do
      url "REPOSITORY/releases/download/vVERSION/planwright-aarch64-unknown-linux-musl.tar.gz"
      sha256 "SHA256 aarch64-unknown-linux-musl"
    end
    on_intel do
      url "REPOSITORY/releases/download/vVERSION/planwright-x86_64-unknown-linux-musl.tar.gz"
      sha256 "SHA256 x86_64-unknown-linux-musl"
    end
  end

  def install
    bin.install "planwright"
    (man1/"planwright.1").write Utils.safe_popen_read(bin/"planwright", "man")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/planwright --version")
  end
end
