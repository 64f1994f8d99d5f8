################################################################################
#
# altnet
#
################################################################################

ALTNET_VERSION = 0.1.0
ALTNET_SOURCE =
ALTNET_LICENSE = Apache-2.0
ALTNET_LICENSE_FILES = LICENSE
ALTNET_DEPENDENCIES = ca-certificates libnl util-linux wireless-regdb wpa_supplicant

ALTNET_TOP = $(BR2_EXTERNAL_ALTNET_PATH)/../..
ALTNET_DEBS = $(call qstrip,$(BR2_PACKAGE_ALTNET_DEB))
ALTNET_INTERFACE = $(call qstrip,$(BR2_PACKAGE_ALTNET_INTERFACE))
ALTNET_WRITABLE = $(call qstrip,$(BR2_PACKAGE_ALTNET_WRITABLE))
# Folders that the device writes to, and their names below ALTNET_WRITABLE.
ALTNET_FOLDERS = /var/lib/altnet=altnet /etc/altnet/keys=altnet-keys

ifeq ($(BR2_PACKAGE_ALTNET_MQTT),y)
ALTNET_DEBS += $(call qstrip,$(BR2_PACKAGE_ALTNET_MQTT_DEBS))
ALTNET_DEPENDENCIES += mosquitto
ALTNET_FOLDERS += /var/lib/altnet-mqtt=altnet-mqtt /etc/altnet/mqtt=altnet-mqtt-secrets
endif

ifeq ($(BR2_PACKAGE_ALTNET)$(BR_BUILDING),yy)
$(foreach name,BR2_PACKAGE_ALTNET_DEB $(if $(BR2_PACKAGE_ALTNET_MQTT),BR2_PACKAGE_ALTNET_MQTT_DEBS),\
	$(if $(call qstrip,$($(name))),,$(error $(name) is empty: name the package that "make deb" has made)))
endif

# Installs the files of the Debian packages, so that there is only one list of files. Removes what only Debian uses.
define ALTNET_EXTRACT_CMDS
	mkdir -p $(@D)/root
	$(foreach deb,$(ALTNET_DEBS),cd $(@D) && ar x $(deb) && tar -xf data.tar.* -C root && rm data.tar.*$(sep))
	rm -rf $(@D)/root/usr/share/lintian $(@D)/root/usr/share/doc $(@D)/root/usr/share/man
	cp $(ALTNET_TOP)/LICENSE $(@D)/LICENSE
endef

define ALTNET_INSTALL_TARGET_CMDS
	cp -a $(@D)/root/. $(TARGET_DIR)/
	$(INSTALL) -D -m 0644 $(@D)/root/usr/share/altnet/brcmfmac.conf $(TARGET_DIR)/usr/lib/modprobe.d/00-altnet-brcmfmac.conf
	mkdir -p $(foreach folder,$(ALTNET_FOLDERS),$(TARGET_DIR)$(firstword $(subst =, ,$(folder)))) $(TARGET_DIR)/etc/default
	$(SED) 's,^#* *ALTNET_INTERFACE=.*,ALTNET_INTERFACE=$(ALTNET_INTERFACE),' $(TARGET_DIR)/etc/altnet/altnet.conf
	$(ALTNET_INSTALL_WRITABLE)
endef

# S45altnet reads these settings, because an init without systemd has no units.
define ALTNET_INSTALL_INIT_SYSV
	printf 'INTERFACE=%s\nWRITABLE=%s\n' '$(ALTNET_INTERFACE)' '$(ALTNET_WRITABLE)' >$(TARGET_DIR)/etc/default/altnet
	$(INSTALL) -D -m 0755 $(ALTNET_PKGDIR)/S45altnet $(TARGET_DIR)/etc/init.d/S45altnet
endef

# The units come from the package. They take the interface over from the first start on, because the image is made for
# altnet.
define ALTNET_INSTALL_INIT_SYSTEMD
	mkdir -p $(TARGET_DIR)/etc/systemd/system-preset
	printf 'enable %s\n' altnet.service altnet-provision.service $(if $(BR2_PACKAGE_ALTNET_MQTT),altnet-mqtt.service) \
		>$(TARGET_DIR)/etc/systemd/system-preset/50-altnet.preset
endef

ifeq ($(BR2_INIT_SYSTEMD),y)

define ALTNET_MQTT_USERS
	altnet-mqtt -1 altnet-mqtt -1 * - - - MQTT bridge of altnet
endef

define ALTNET_USERS
	altnet -1 altnet -1 * - - - altnet agent
	altnet-provider -1 altnet-provider -1 * - - - Hotspot providers of altnet
	altnet-hook -1 altnet-hook -1 * - - - Hooks of altnet
	altnet-improv -1 altnet-improv -1 * - - - Improv for altnet
	- -1 altnet-agent -1 * - - - -
$(if $(BR2_PACKAGE_ALTNET_MQTT),$(ALTNET_MQTT_USERS))
endef

ifeq ($(ALTNET_WRITABLE),)
define ALTNET_PERMISSIONS
	/var/lib/altnet d 700 altnet altnet - - - - -
	/etc/altnet/keys d 700 root root - - - - -
	$(if $(BR2_PACKAGE_ALTNET_MQTT),/etc/altnet/mqtt d 700 root root - - - - -)
endef
else
# Binds the folders to their places before altnet starts. systemd creates folders that are missing on the partition.
define ALTNET_INSTALL_WRITABLE
	mkdir -p $(TARGET_DIR)$(ALTNET_WRITABLE)
	$(SED) '\,x-altnet,d' $(TARGET_DIR)/etc/fstab
	printf '$(ALTNET_WRITABLE)/%s %s none bind,x-altnet,x-systemd.requires-mounts-for=$(ALTNET_WRITABLE) 0 0\n' \
		$(foreach folder,$(ALTNET_FOLDERS),$(lastword $(subst =, ,$(folder))) $(firstword $(subst =, ,$(folder)))) \
		>>$(TARGET_DIR)/etc/fstab
endef
endif

endif

$(eval $(generic-package))
