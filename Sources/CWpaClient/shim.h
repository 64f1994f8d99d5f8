// libwpa_client: the client side of wpa_supplicant's control socket (Debian: libwpa-client-dev).
#pragma once

#include <stddef.h>
#include <wpa_ctrl.h>
