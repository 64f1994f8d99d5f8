import Glibc

/// Simulated radios with real access points on them: wlan0 is the station's, wlan1 and wlan2 the access points'.
enum Air {
    /// Whether this kernel has nl80211 and nobody's radios: the lab's virtual machine.
    static let isThere =
        getuid() == 0 && getenv("LAB_RESULTS") != nil && access("/sys/class/ieee80211", F_OK) == 0

    static let address = "02:00:00:00:01:00"

    /// Fresh radios, nothing on the air, in a domain with few channels.
    static func clear(domain: String = "CN") async throws {
        try await Shell.run(
            """
            for pid in /run/air-*.pid; do [ ! -e $pid ] || kill -KILL $(cat $pid) 2>/dev/null || true; done
            rm -rf /run/air-*
            modprobe -r mac80211_hwsim
            modprobe mac80211_hwsim radios=3
            iw reg set \(domain)
            ip link set wlan0 up
            """)
    }

    /// Puts an access point on the air and waits until it is.
    static func powerOn(_ settings: String, on interface: String = "wlan1") async throws {
        let file = "/run/air-\(interface)"
        // With -B hostapd forks when its access point is on the air.
        try await Shell.run(
            """
            cat >\(file).conf <<'END'
            interface=\(interface)
            driver=nl80211
            ctrl_interface=/run/air-hostapd
            country_code=CN
            \(settings)
            END
            hostapd -B -P \(file).pid \(file).conf
            """)
    }

    static func powerOff(_ interface: String = "wlan1") async throws {
        try await Shell.run("kill -KILL $(cat /run/air-\(interface).pid); ip link set \(interface) down")
    }

    /// Has wpa_supplicant join on wlan0.
    static func join(_ network: String) async throws {
        try await Shell.run(
            """
            cat >/run/air-wlan0.conf <<'END'
            network={
            \(network)
            }
            END
            wpa_supplicant -B -i wlan0 -c /run/air-wlan0.conf -P /run/air-wlan0.pid
            """)
    }

    /// What the station measures of an access point, in dBm.
    static func setSignal(_ signal: Int, of interface: String = "wlan1") async throws {
        let value = String(UInt64(bitPattern: Int64(signal)), radix: 16)
        try await Shell.run(
            """
            iw dev \(interface) set txpower fixed 0
            printf 0x\(value) >/sys/kernel/debug/ieee80211/$(cat /sys/class/net/\(interface)/phy80211/name)/hwsim/rx_rssi
            """)
    }

    static let home =
        "ssid=Home\nhw_mode=g\nchannel=1\nwpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\n"
        + "wpa_passphrase=lab-password"
    static let homeNetwork = "ssid=\"Home\"\npsk=\"lab-password\"\nscan_freq=2412"
}
