# The formula of checkpoint {{VERSION}} for a tap of Homebrew: Formula/checkpoint.rb there.
class Checkpoint < Formula
  desc "Snapshot a working directory into a shadow git repository, and bring it back"
  homepage "{{REPOSITORY}}"
  version "{{VERSION}}"
  license "MIT"

  on_macos do
    on_arm do
      url "{{REPOSITORY}}/releases/download/v{{VERSION}}/checkpoint-{{VERSION}}-aarch64-apple-darwin.tar.gz"
      sha256 "{{SHA256:aarch64-apple-darwin}}"
    end
    on_intel do
      url "{{REPOSITORY}}/releases/download/v{{VERSION}}/checkpoint-{{VERSION}}-x86_64-apple-darwin.tar.gz"
      sha256 "{{SHA256:x86_64-apple-darwin}}"
    end
  end
  on_linux do
    on_arm do
      url "{{REPOSITORY}}/releases/download/v{{VERSION}}/checkpoint-{{VERSION}}-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "{{SHA256:aarch64-unknown-linux-gnu}}"
    end
    on_intel do
      url "{{REPOSITORY}}/releases/download/v{{VERSION}}/checkpoint-{{VERSION}}-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "{{SHA256:x86_64-unknown-linux-gnu}}"
    end
  end

  def install
    bin.install "checkpoint"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/checkpoint.bash" => "checkpoint"
    zsh_completion.install "completions/_checkpoint"
    fish_completion.install "completions/checkpoint.fish"
  end

  test do
    (testpath/"project/file").write "one"
    ENV["CHECKPOINT_HOME"] = testpath/"stores"
    assert_match(/\A\h{8}$/, shell_output("#{bin}/checkpoint -C #{testpath}/project create"))
  end
end
