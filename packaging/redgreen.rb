# Homebrew formula of redgreen @VERSION@, for a tap. `scripts/release finish` fills it in.
class Redgreen < Formula
  desc "Drives AI coding agents through TDD and checks every step by running your tests"
  homepage "https://github.com/@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/redgreen-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA_aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/redgreen-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA_x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/redgreen-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA_aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/@REPOSITORY@/releases/download/v@VERSION@/redgreen-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA_x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "redgreen"
    man1.install "redgreen.1"
    bash_completion.install "completions/redgreen.bash" => "redgreen"
    fish_completion.install "completions/redgreen.fish"
    zsh_completion.install "completions/redgreen.zsh" => "_redgreen"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/redgreen --version")
  end
end
