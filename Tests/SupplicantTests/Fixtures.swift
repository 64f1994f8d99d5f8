import AgentModel
import Testing

@testable import Supplicant

/// The events of one join from wpa_supplicant 2.10, recorded with hostapd 2.10 on simulated radios (mac80211_hwsim),
/// from its answer to SELECT_NETWORK on.
struct Fixture: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var network = 0
    let lines: [String]
    /// The first effect that the lines lead to.
    let effect: JoinProgress.Effect
    /// The cause that the lines after it name, where they do.
    var refined: JoinFailure?

    static let all = [
        wpa2, sae, open, hidden, wrongPassphrase, wrongSAEPassword, full, notFound, silentAccessPoint,
        refusedAssociation,
    ]

    static let wpa2 = Fixture(
        testDescription: "WPA2 after a scan",
        lines: [
            "CTRL-EVENT-SCAN-STARTED ", "CTRL-EVENT-BSS-ADDED 0 02:00:00:00:01:00", "CTRL-EVENT-SCAN-RESULTS ",
            "SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
            "Trying to associate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
            "Associated with 02:00:00:00:01:00", "CTRL-EVENT-SUBNET-STATUS-UPDATE status=0",
            "WPA: Key negotiation completed with 02:00:00:00:01:00 [PTK=CCMP GTK=CCMP]",
            "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]",
        ], effect: .succeeded(BSSID("02:00:00:00:01:00")!))

    static let sae = Fixture(
        testDescription: "WPA3 with fresh scan results", network: 1,
        lines: [
            "CTRL-EVENT-DSCP-POLICY clear_all",
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Sae' freq=2437 MHz)",
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Sae' freq=2437 MHz)",
            "PMKSA-CACHE-ADDED 02:00:00:00:02:00 1",
            "Trying to associate with 02:00:00:00:02:00 (SSID='Sae' freq=2437 MHz)",
            "Associated with 02:00:00:00:02:00", "CTRL-EVENT-SUBNET-STATUS-UPDATE status=0",
            "WPA: Key negotiation completed with 02:00:00:00:02:00 [PTK=CCMP GTK=CCMP]",
            "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:02:00 completed [id=1 id_str=]",
        ], effect: .succeeded(BSSID("02:00:00:00:02:00")!))

    static let open = Fixture(
        testDescription: "open",
        lines: [
            "SME: Trying to authenticate with 02:00:00:00:04:01 (SSID='Open' freq=5180 MHz)",
            "Trying to associate with 02:00:00:00:04:01 (SSID='Open' freq=5180 MHz)",
            "Associated with 02:00:00:00:04:01",
            "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:04:01 completed [id=0 id_str=]",
        ], effect: .succeeded(BSSID("02:00:00:00:04:01")!))

    static let hidden = Fixture(
        testDescription: "hidden",
        lines: [
            "CTRL-EVENT-SCAN-STARTED ", "CTRL-EVENT-SCAN-RESULTS ",
            "SME: Trying to authenticate with 02:00:00:00:03:00 (SSID='Hidden' freq=2462 MHz)",
            "Trying to associate with 02:00:00:00:03:00 (SSID='Hidden' freq=2462 MHz)",
            "Associated with 02:00:00:00:03:00", "CTRL-EVENT-SUBNET-STATUS-UPDATE status=0",
            "WPA: Key negotiation completed with 02:00:00:00:03:00 [PTK=CCMP GTK=CCMP]",
            "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:03:00 completed [id=0 id_str=]",
        ], effect: .succeeded(BSSID("02:00:00:00:03:00")!))

    static let wrongPassphrase = Fixture(
        testDescription: "wrong WPA2 passphrase", network: 2,
        lines: [
            "CTRL-EVENT-DSCP-POLICY clear_all",
            "SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
            "Trying to associate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
            "Associated with 02:00:00:00:01:00", "CTRL-EVENT-SUBNET-STATUS-UPDATE status=0",
            "CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=15",
            "WPA: 4-Way Handshake failed - pre-shared key may be incorrect",
            "CTRL-EVENT-SSID-TEMP-DISABLED id=2 ssid=\"Home\" auth_failures=1 duration=10 reason=WRONG_KEY",
        ], effect: .failed(.linkLost), refined: .wrongKey)

    static let wrongSAEPassword = Fixture(
        testDescription: "wrong WPA3 password", network: 2,
        lines: [
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Sae' freq=2437 MHz)",
            "SME: Trying to authenticate with 02:00:00:00:02:00 (SSID='Sae' freq=2437 MHz)",
            "CTRL-EVENT-AUTH-REJECT 02:00:00:00:02:00 auth_type=3 auth_transaction=2 status_code=1",
        ], effect: .failed(.wrongKey))

    static let full = Fixture(
        testDescription: "full access point", network: 2,
        lines: [
            "SME: Trying to authenticate with 02:00:00:00:04:00 (SSID='Full' freq=5180 MHz)",
            "CTRL-EVENT-AUTH-REJECT 02:00:00:00:04:00 auth_type=0 auth_transaction=2 status_code=17",
        ], effect: .failed(.accessPointFull))

    static let notFound = Fixture(
        testDescription: "no access point",
        lines: ["CTRL-EVENT-SCAN-STARTED ", "CTRL-EVENT-SCAN-RESULTS ", "CTRL-EVENT-NETWORK-NOT-FOUND "],
        effect: .failed(.notFound))

    static let silentAccessPoint = Fixture(
        testDescription: "an access point that lost its power a moment ago", network: 8,
        lines: [
            "CTRL-EVENT-SCAN-STARTED ", "CTRL-EVENT-SCAN-RESULTS ",
            "SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)",
            "CTRL-EVENT-SCAN-STARTED ",
        ], effect: .askWhetherAuthenticating)

    static let refusedAssociation = Fixture(
        testDescription: "refused association", network: 1,
        lines: [
            "SME: Trying to authenticate with 02:00:00:00:04:02 (SSID='Owe' freq=5180 MHz)",
            "Trying to associate with 02:00:00:00:04:02 (SSID='Owe' freq=5180 MHz)",
            "CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:04:02 status_code=40",
            "SME: Deauth request to the driver failed",
        ], effect: .failed(.rejected))
}
