# Installs checkpoint {{VERSION}} for Windows; no administrator needed. Windows PowerShell 5.1 or newer.
#   irm {{REPOSITORY}}/releases/latest/download/install.ps1 | iex
# CHECKPOINT_BIN       folder of the program (%LOCALAPPDATA%\Programs\checkpoint)
# CHECKPOINT_RELEASES  where the archive is fetched from; a folder too ({{REPOSITORY}}/releases/download/v{{VERSION}})
& {
    $ErrorActionPreference = 'Stop'
    # The progress bar of 5.1 takes longer than the download.
    $ProgressPreference = 'SilentlyContinue'
    $name = 'checkpoint-{{VERSION}}-x86_64-pc-windows-msvc'
    $bin = if ($env:CHECKPOINT_BIN) { $env:CHECKPOINT_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\checkpoint' }
    $from = if ($env:CHECKPOINT_RELEASES) { $env:CHECKPOINT_RELEASES } else { '{{REPOSITORY}}/releases/download/v{{VERSION}}' }
    $scratch = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
    New-Item -ItemType Directory $scratch | Out-Null
    try {
        $archive = Join-Path $scratch "$name.zip"
        if ($from -match '^https?://') {
            [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
            Invoke-WebRequest -UseBasicParsing "$from/$name.zip" -OutFile $archive
        } else {
            Copy-Item (Join-Path $from "$name.zip") $archive
        }
        if ((Get-FileHash -Algorithm SHA256 $archive).Hash -ne '{{SHA256:x86_64-pc-windows-msvc}}') {
            throw "checkpoint is not installed: $name.zip is not what was released: its SHA-256 is another"
        }
        Expand-Archive $archive $scratch
        New-Item -ItemType Directory -Force $bin | Out-Null
        # A program that runs cannot be replaced, but renamed.
        $program = Join-Path $bin 'checkpoint.exe'
        if (Test-Path $program) { Move-Item -Force $program "$program.old" }
        Copy-Item -Force (Join-Path $scratch "$name\checkpoint.exe"), (Join-Path $scratch "$name\completions\checkpoint.ps1") $bin
    } finally {
        Remove-Item -Recurse -Force $scratch
    }
    Write-Output "checkpoint {{VERSION}} is in $bin"
    if (($env:PATH -split ';') -notcontains $bin) {
        Write-Output "$bin is not in PATH; to add it, and start programs again:"
        Write-Output "  [Environment]::SetEnvironmentVariable('PATH', '$bin;' + [Environment]::GetEnvironmentVariable('PATH', 'User'), 'User')"
    }
    Write-Output "For completion, add to your profile: . '$(Join-Path $bin 'checkpoint.ps1')'"
}
