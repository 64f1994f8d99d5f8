################################################################################
#
# altnet
#
################################################################################

ALTNET_VERSION = 0.1.0
ALTNET_SOURCE =
ALTNET_LICENSE = Apache-2.0
ALTNET_LICENSE_FILES = LICENSE
ALTNET_DEPENDENCIES = ca-certificates libnl wireless-regdb wpa_supplicant

ALTNET_TOP = $(BR2_EXTERNAL_ALTNET_PATH)/../..
ALTNET_DEB = $(call qstrip,$(BR2_PACKAGE_ALTNET_DEB))
ALTNET_INTERFACE = $(call qstrip,$(BR2_PACKAGE_ALTNET_INTERFACE))
ALTNET_WRITABLE = $(call qstrip,$(BR2_PACKAGE_ALTNET_WRITABLE))

ifeq ($(BR2_PACKAGE_ALTNET)$(BR_BUILDING),yy)
ifeq ($(ALTNET_DEB),)
$(error BR2_PACKAGE_ALTNET_DEB is empty: name the package that "make deb" has made)
endif
endif

# Installs the files of the Debian package, so that there is one list of them. The rest is Debian's own.
define ALTNET_EXTRACT_CMDS
	mkdir -p $(@D)/root
	cd $(@D) && ar x $(ALTNET_DEB)
	tar -xf $(@D)/data.tar.* -C $(@D)/root
	rm -rf $(@D)/root/usr/share/lintian $(@D)/root/usr/share/doc $(@D)/root/usr/share/man
	cp $(ALTNET_TOP)/LICENSE $(@D)/LICENSE
endef

define ALTNET_INSTALL_TARGET_CMDS
	cp -a $(@D)/root/. $(TARGET_DIR)/
	$(INSTALL) -D -m 0644 $(@D)/root/usr/share/altnet/brcmfmac.conf $(TARGET_DIR)/usr/lib/modprobe.d/00-altnet-brcmfmac.conf
	mkdir -p $(TARGET_DIR)/etc/altnet/keys $(TARGET_DIR)/var/lib/altnet $(TARGET_DIR)/etc/default
	$(SED) 's,^#* *ALTNET_INTERFACE=.*,ALTNET_INTERFACE=$(ALTNET_INTERFACE),' $(TARGET_DIR)/etc/altnet/altnet.conf
	$(ALTNET_LEAVE_OUT_DIRECT)
	$(ALTNET_INSTALL_WRITABLE)
endef

# Init has no units: this says what it needs to know.
define ALTNET_INSTALL_INIT_SYSV
	printf 'INTERFACE=%s\nWRITABLE=%s\n' '$(ALTNET_INTERFACE)' '$(ALTNET_WRITABLE)' >$(TARGET_DIR)/etc/default/altnet
	$(INSTALL) -D -m 0755 $(ALTNET_PKGDIR)/S45altnet $(TARGET_DIR)/etc/init.d/S45altnet
endef

# Without its mode of an access point, Buildroot's wpa_supplicant has no Wi-Fi Direct, nor the line that leaves it off.
ifneq ($(BR2_PACKAGE_WPA_SUPPLICANT_AP_SUPPORT),y)
define ALTNET_LEAVE_OUT_DIRECT
	$(SED) '/^p2p_disabled=/d' $(TARGET_DIR)/etc/altnet/wpa_supplicant.conf
endef
endif

# Its units are in the package. It takes the interface over from the first start on, which is what an image is for.
define ALTNET_INSTALL_INIT_SYSTEMD
	mkdir -p $(TARGET_DIR)/etc/systemd/system-preset
	printf 'enable %s\n' altnet.service altnet-provision.service \
		>$(TARGET_DIR)/etc/systemd/system-preset/50-altnet.preset
endef

ifeq ($(BR2_INIT_SYSTEMD),y)

define ALTNET_USERS
	altnet -1 altnet -1 * - - - altnet agent
	altnet-provider -1 altnet-provider -1 * - - - Hotspot providers of altnet
	altnet-hook -1 altnet-hook -1 * - - - Hooks of altnet
	altnet-improv -1 altnet-improv -1 * - - - Improv for altnet
	- -1 altnet-agent -1 * - - - -
endef

ifeq ($(ALTNET_WRITABLE),)
define ALTNET_PERMISSIONS
	/var/lib/altnet d 700 altnet altnet - - - - -
	/etc/altnet/keys d 700 root root - - - - -
endef
else
# Bound to their places before anything of altnet starts; systemd makes what is not there yet on the partition.
define ALTNET_INSTALL_WRITABLE
	mkdir -p $(TARGET_DIR)$(ALTNET_WRITABLE)
	$(SED) '\,x-altnet,d' $(TARGET_DIR)/etc/fstab
	printf '%s %s none bind,x-altnet,x-systemd.requires-mounts-for=%s 0 0\n' \
		$(ALTNET_WRITABLE)/altnet /var/lib/altnet $(ALTNET_WRITABLE) \
		$(ALTNET_WRITABLE)/altnet-keys /etc/altnet/keys $(ALTNET_WRITABLE) >>$(TARGET_DIR)/etc/fstab
endef
endif

endif

$(eval $(generic-package))
