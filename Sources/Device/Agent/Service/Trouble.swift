import AgentCore
import AgentModel
import Glibc
import Linux

/// A missing part without which the agent cannot work, such as an interface. The agent waits for the part and logs the
/// remedy once.
enum Trouble: Hashable {
    case noWiFi
    case noInterface(String, others: [String])
    case blocked(RadioBlock, interface: String)
    case noSupplicant(SupplicantTrouble, interface: String, socket: String)

    enum SupplicantTrouble: Hashable {
        case notInstalled
        case notRunning
        case notPermitted
        case silent
    }

    var advice: String {
        switch self {
        case .noWiFi:
            "the kernel has no nl80211: waiting for it; plug the Wi-Fi adapter in, or load the module cfg80211 and the "
                + "radio's driver"
        case .noInterface(let name, let others):
            "there is no interface \(name): waiting for it; plug it in, load its driver, "
                + (others.isEmpty
                    ? "or set ALTNET_INTERFACE (there is no other Wi-Fi interface either)"
                    : "or set ALTNET_INTERFACE to \(others.joined(separator: " or "))")
        case .blocked(let block, let interface): block.advice(interface: interface)
        case .noSupplicant(.notInstalled, _, _):
            "wpa_supplicant is not installed: waiting for it; install the package wpasupplicant"
        case .noSupplicant(.notRunning, let interface, let socket):
            "wpa_supplicant does not run for \(interface): waiting for its control socket \(socket); start "
                + "altnet-wpa_supplicant@\(interface).service, or set ALTNET_SUPPLICANT_DIR"
        case .noSupplicant(.notPermitted, _, let socket):
            "no permission for wpa_supplicant's control socket \(socket): waiting for it; give its folder to a group "
                + "of only the agent (ctrl_interface=DIR=... GROUP=altnet-agent)"
        case .noSupplicant(.silent, let interface, let socket):
            "wpa_supplicant does not answer at \(socket): waiting for it; restart "
                + "altnet-wpa_supplicant@\(interface).service"
        }
    }

    @AgentLoop
    init(_ part: MissingPart, _ station: Station) {
        switch part {
        case .wifi: self = .noWiFi
        case .interface: self = .noInterface(station.interface, others: WirelessInterfaces.names())
        case .blocked(let block): self = .blocked(block, interface: station.interface)
        case .supplicant:
            self = .noSupplicant(
                .init(socket: station.controlSocket), interface: station.interface, socket: station.controlSocket)
        }
    }
}

extension Trouble.SupplicantTrouble {
    /// Determines why wpa_supplicant does not answer at its control socket.
    /// - Parameter programs: possible paths of wpa_supplicant.
    init(
        socket: String,
        programs: [String] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin"].map { $0 + "/wpa_supplicant" }
    ) {
        // Check the permissions of the effective user, not of the real one.
        if faccessat(AT_FDCWD, socket, R_OK | W_OK, AT_EACCESS) == 0 {
            self = .silent
        } else if errno == EACCES || errno == EPERM {
            self = .notPermitted
        } else {
            self = programs.contains { access($0, X_OK) == 0 } ? .notRunning : .notInstalled
        }
    }
}
