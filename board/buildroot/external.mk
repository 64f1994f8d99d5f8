include $(sort $(wildcard $(BR2_EXTERNAL_ALTNET_PATH)/package/*/*.mk))
