SUMMARY = "Connects a device that altnet keeps online to an MQTT broker"
DESCRIPTION = "Publishes connection, decisions and outages to an MQTT 5 broker and Home Assistant, and takes commands."

require recipes-connectivity/altnet/altnet.inc

DEPENDS += "mosquitto"

# altnet-fleet has the program of altnet-mqtt. In local.conf:
# ALTNET_MQTT_DEBS = "/path/of/altnet-mqtt_..._arm64.deb /path/of/altnet-fleet_..."
ALTNET_MQTT_DEBS ?= ""
DEBS = "${ALTNET_MQTT_DEBS}"

USERADD_PARAM:${PN} = "--system --user-group --no-create-home --home-dir /nonexistent --shell /sbin/nologin altnet-mqtt"

SYSTEMD_SERVICE:${PN} = "altnet-mqtt.service"

do_install:append() {
    install -d -m 0700 ${D}${sysconfdir}/altnet/mqtt
    install -d -m 0700 -o altnet-mqtt -g altnet-mqtt ${D}${localstatedir}/lib/altnet-mqtt
    altnet_bind altnet-mqtt.service altnet-mqtt ${localstatedir}/lib/altnet-mqtt var-lib-altnet\\x2dmqtt
    altnet_bind altnet-mqtt.service altnet-mqtt-secrets ${sysconfdir}/altnet/mqtt etc-altnet-mqtt
}

RDEPENDS:${PN} = "altnet ca-certificates"
