<#
.SYNOPSIS
Installs the program planwright from a release, after it has compared the checksum.
.PARAMETER Prefix
The folder whose `bin` gets the program; default: `planwright` in the local application data.
.PARAMETER Version
The version, such as 0.1.0; default: the newest.
.PARAMETER From
The folder to download from instead of the releases.
.PARAMETER Help
Prints this text.
#>
param(
    [string]$Prefix = (Join-Path $env:LOCALAPPDATA "planwright"),
    [string]$Version = "",
    [string]$From = "",
    [switch]$Help
)
$ErrorActionPreference = "Stop"
$ProgressPreference = "SilentlyContinue"

if ($Help) {
    Write-Output "usage: install.ps1 [-Prefix FOLDER] [-Version VERSION] [-From URL]"
    Write-Output ""
    Write-Output "  -Prefix FOLDER    install into FOLDER\bin; default: planwright in the local application data"
    Write-Output "  -Version VERSION  install this version, such as 0.1.0; default: the newest"
    Write-Output "  -From URL         download from this folder instead of the releases"
    Write-Output "  -Help             print this text"
    exit 0
}

$releases = "https://github.com/planwright/planwright/releases"
# Windows on Arm runs this program as well.
$target = "x86_64-pc-windows-msvc"
$archive = "planwright-$target.zip"
if ($From -eq "") {
    if ($Version -eq "") {
        $From = "$releases/latest/download"
    } else {
        $From = "$releases/download/v" + $Version.TrimStart("v")
    }
}

$folder = Join-Path ([System.IO.Path]::GetTempPath()) ([System.Guid]::NewGuid().ToString())
New-Item -ItemType Directory -Path $folder | Out-Null
try {
    $sums = Join-Path $folder "SHA256SUMS"
    Invoke-WebRequest -UseBasicParsing -Uri "$From/SHA256SUMS" -OutFile $sums
    $line = Get-Content $sums | Where-Object { ($_ -split "\s+", 2)[1] -eq $archive } | Select-Object -First 1
    if (-not $line) {
        throw "the release has no ``$archive``"
    }
    $wanted = ($line -split "\s+", 2)[0]
    $download = Join-Path $folder $archive
    Invoke-WebRequest -UseBasicParsing -Uri "$From/$archive" -OutFile $download
    $found = (Get-FileHash -Algorithm SHA256 -Path $download).Hash.ToLowerInvariant()
    if ($found -ne $wanted) {
        throw "``$archive`` has the checksum $found instead of $wanted, so nothing was installed"
    }

    Expand-Archive -Path $download -DestinationPath $folder
    $bin = Join-Path $Prefix "bin"
    New-Item -ItemType Directory -Force -Path $bin | Out-Null
    $program = Join-Path $bin "planwright.exe"
    Copy-Item -Force -Path (Join-Path $folder "planwright-$target\planwright.exe") -Destination $program
    & $program --version
    if ($LASTEXITCODE -ne 0) {
        throw "``$program`` does not start on this machine"
    }
    Write-Output "installed as $program"
    if (($env:Path -split ";") -notcontains $bin) {
        Write-Output "  hint: add $bin to PATH"
    }
} catch {
    [Console]::Error.WriteLine("error: $($_.Exception.Message)")
    exit 1
} finally {
    Remove-Item -Recurse -Force -Path $folder
}
