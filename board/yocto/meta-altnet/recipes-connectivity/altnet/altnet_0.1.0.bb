SUMMARY = "Keeps a device online over Wi-Fi"
DESCRIPTION = "Stores backup networks, measures signal, switches when told to, and fails over by itself."
SECTION = "net"
LICENSE = "Apache-2.0"
# nooelint: oelint.var.licenseremotefile - the package has Debian's form of it
LIC_FILES_CHKSUM = "file://${COMMON_LICENSE_DIR}/Apache-2.0;md5=89aea4e17d99a7cacdbeed46a0096b10"

DEPENDS = "libnl"

# There is no Swift compiler in OpenEmbedded, so the Debian package that "make deb" has made is unpacked: what it installs
# is installed here. Name it in local.conf: ALTNET_DEB = "/path/of/altnet_0.1.0-1_arm64.deb"
ALTNET_DEB ?= ""
SRC_URI = "file://${ALTNET_DEB};subdir=${BP}"

# If the root file system is read-only: the mount point of the partition that is not.
ALTNET_WRITABLE ?= ""

ALTNET_INTERFACE ?= "wlan0"

COMPATIBLE_HOST = "(aarch64|x86_64).*-linux"
COMPATIBLE_HOST:libc-musl = "null"
REQUIRED_DISTRO_FEATURES = "systemd usrmerge"

inherit features_check systemd useradd

USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system altnet-agent"
USERADD_PARAM:${PN} = "\
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-provider; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-hook; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-improv \
"

SYSTEMD_SERVICE:${PN} = "altnet.service altnet-provision.service"

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -d ${D}
    cp -R --no-dereference --preserve=mode,links ${S}/usr ${S}/etc ${D}/
    rm -rf ${D}${datadir}/lintian ${D}${datadir}/doc ${D}${datadir}/zsh ${D}${datadir}/fish

    # An image is made for altnet, so its driver is loaded with these options from the first boot on.
    install -D -m 0644 ${D}${datadir}/altnet/brcmfmac.conf ${D}${nonarch_libdir}/modprobe.d/00-altnet-brcmfmac.conf

    install -d ${D}${sysconfdir}/altnet
    install -d -m 0700 ${D}${sysconfdir}/altnet/keys
    sed -i 's,^#* *ALTNET_INTERFACE=.*,ALTNET_INTERFACE=${ALTNET_INTERFACE},' ${D}${sysconfdir}/altnet/altnet.conf

    install -d -m 0700 -o altnet -g altnet ${D}${localstatedir}/lib/altnet

    if [ -n "${ALTNET_WRITABLE}" ]; then
        install -d ${D}${ALTNET_WRITABLE} ${D}${systemd_system_unitdir}
        altnet_bind ${ALTNET_WRITABLE}/altnet ${localstatedir}/lib/altnet var-lib-altnet
        altnet_bind ${ALTNET_WRITABLE}/altnet-keys ${sysconfdir}/altnet/keys etc-altnet-keys
    fi
}

# Bound to its place before anything of altnet starts; systemd makes what is not there yet on the partition.
altnet_bind() {
    install -d ${D}${systemd_system_unitdir}/altnet-provision.service.requires
    printf '%s\n' "[Unit]" "RequiresMountsFor=${ALTNET_WRITABLE}" "[Mount]" "What=$1" "Where=$2" \
        "Type=none" "Options=bind" "DirectoryMode=0700" >${D}${systemd_system_unitdir}/$3.mount
    ln -s ../$3.mount ${D}${systemd_system_unitdir}/altnet-provision.service.requires/$3.mount
}

FILES:${PN} += "${systemd_system_unitdir} ${libdir}/sysusers.d ${nonarch_libdir} ${datadir} ${ALTNET_WRITABLE}"
CONFFILES:${PN} = "${sysconfdir}/altnet/altnet.conf ${sysconfdir}/altnet/wpa_supplicant.conf"

RDEPENDS:${PN} = "ca-certificates util-linux-flock util-linux-setpriv wpa-supplicant"
RRECOMMENDS:${PN} = "wireless-regdb-static"

# It is made elsewhere: stripped, and linked with flags of its own.
INHIBIT_PACKAGE_STRIP = "1"
INHIBIT_PACKAGE_DEBUG_SPLIT = "1"
# nooelint: oelint.vars.insaneskip - this recipe cannot link it again
INSANE_SKIP:${PN} = "already-stripped ldflags"

# nooelint: oelint.task.noanonpython - an image without altnet is built without its package, too
python () {
    if not d.getVar("ALTNET_DEB"):
        raise bb.parse.SkipRecipe("ALTNET_DEB names no Debian package of altnet: set it in local.conf")
}
