SUMMARY = "Keeps a device online over Wi-Fi"
DESCRIPTION = "Stores backup networks, measures signal, switches on command, and fails over automatically."

require altnet.inc

DEPENDS += "libnl"

# In local.conf: ALTNET_DEB = "/path/of/altnet_0.1.0-2_arm64.deb"
ALTNET_DEB ?= ""
DEBS = "${ALTNET_DEB}"

ALTNET_INTERFACE ?= "wlan0"

GROUPADD_PARAM:${PN} = "--system altnet-agent"
USERADD_PARAM:${PN} = "\
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-provider; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-hook; \
    --system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-improv \
"

SYSTEMD_SERVICE:${PN} = "altnet.service altnet-provision.service"

do_install:append() {
    cp -R --no-dereference --preserve=mode,links ${S}/etc ${D}/
    # Loads the driver with these options from the first boot on, because the image is made for altnet.
    install -D -m 0644 ${D}${datadir}/altnet/brcmfmac.conf ${D}${nonarch_libdir}/modprobe.d/00-altnet-brcmfmac.conf
    install -d -m 0700 ${D}${sysconfdir}/altnet/keys
    sed -i 's,^#* *ALTNET_INTERFACE=.*,ALTNET_INTERFACE=${ALTNET_INTERFACE},' ${D}${sysconfdir}/altnet/altnet.conf
    install -d -m 0700 -o altnet -g altnet ${D}${localstatedir}/lib/altnet
    altnet_bind altnet-provision.service altnet ${localstatedir}/lib/altnet var-lib-altnet
    altnet_bind altnet-provision.service altnet-keys ${sysconfdir}/altnet/keys etc-altnet-keys
}

CONFFILES:${PN} = "${sysconfdir}/altnet/altnet.conf ${sysconfdir}/altnet/wpa_supplicant.conf"

RDEPENDS:${PN} = "ca-certificates util-linux-flock util-linux-setpriv wpa-supplicant"
RRECOMMENDS:${PN} = "wireless-regdb-static"
