#!/bin/sh
# home_assistant_chroot.sh FOLDER: a Home Assistant of PyPI in a Debian of its own, for the checks that need one where no Python is new enough.
# Wants root and debootstrap; takes 1.7 GB and some minutes. `home_assistant_chroot.sh --unmount FOLDER` before it is removed.
set -eu
# The folder of scratch files, which is the same inside and outside.
scratch=${TMPDIR:-/tmp}
if [ "$1" = --unmount ]; then
    for mounted in "$scratch" /proc /dev; do mountpoint -q "$2$mounted" && umount "$2$mounted"; done
    exit 0
fi
folder=$1
[ -x "$folder/usr/bin/python3.14" ] || debootstrap --variant=minbase --include=python3.14,python3.14-venv,ca-certificates sid "$folder" http://deb.debian.org/debian
cp /etc/resolv.conf "$folder/etc/resolv.conf"
# This machine's authorities; PyPI may be behind a proxy of its own.
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$folder/etc/"
mkdir -p "$folder$scratch" "$folder/ha"
for mounted in /proc /dev "$scratch"; do mountpoint -q "$folder$mounted" || mount --bind "$mounted" "$folder$mounted"; done
[ -x "$folder/ha/venv/bin/python" ] || chroot "$folder" python3.14 -m venv /ha/venv
pip="chroot $folder /ha/venv/bin/pip install -q --disable-pip-version-check"
$pip homeassistant==2026.11.0
rules=/ha/venv/lib/python3.14/site-packages/homeassistant/package_constraints.txt
$pip -c $rules home-assistant-frontend paho-mqtt hassil home-assistant-intents gazetteer-matcher ha-ffmpeg mutagen securetar SQLAlchemy isal xmltodict jsonpath-python==1.1.6
echo "HOME_ASSISTANT=\"chroot $folder /ha/venv/bin/hass\""
