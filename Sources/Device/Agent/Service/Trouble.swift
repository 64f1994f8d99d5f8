import Glibc
import Linux

/// What keeps the agent from its work and may end by itself: it waits, and says once what would help.
enum Trouble: Hashable {
    /// The kernel has no nl80211.
    case noWiFi
    /// The others are the Wi-Fi interfaces that there are.
    case noInterface(String, others: [String])
    case noSupplicant(SupplicantTrouble, interface: String, socket: String)

    enum SupplicantTrouble: Hashable {
        case notInstalled
        case notRunning
        case notPermitted
        case silent
    }

    /// For the service's status.
    var summary: String {
        switch self {
        case .noWiFi: "waiting for Wi-Fi in the kernel"
        case .noInterface(let name, _): "waiting for the interface \(name)"
        case .noSupplicant: "waiting for wpa_supplicant"
        }
    }

    /// What is wrong, and what to do about it.
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
        case .noSupplicant(.notInstalled, _, _):
            "wpa_supplicant is not installed: waiting for it; install the package wpasupplicant"
        case .noSupplicant(.notRunning, let interface, let socket):
            "wpa_supplicant does not run for \(interface): waiting for its control socket \(socket); start "
                + "altnet-wpa_supplicant@\(interface).service, or set ALTNET_SUPPLICANT_DIR"
        case .noSupplicant(.notPermitted, _, let socket):
            "the agent may not use wpa_supplicant's control socket \(socket): waiting until it may; give its folder to a "
                + "group of the agent alone (ctrl_interface=DIR=... GROUP=altnet-agent)"
        case .noSupplicant(.silent, let interface, let socket):
            "wpa_supplicant does not answer at \(socket): waiting for it; restart "
                + "altnet-wpa_supplicant@\(interface).service"
        }
    }

    /// What is said when it has ended.
    var relief: String {
        switch self {
        case .noWiFi: "the kernel has nl80211 now"
        case .noInterface(let name, _): "the interface \(name) is there"
        case .noSupplicant: "wpa_supplicant answers"
        }
    }

    /// Whether it is the same thing that is missing, whatever the reason.
    func isSame(as other: Trouble) -> Bool {
        switch (self, other) {
        case (.noWiFi, .noWiFi), (.noInterface, .noInterface), (.noSupplicant, .noSupplicant): true
        case (.noWiFi, _), (.noInterface, _), (.noSupplicant, _): false
        }
    }

    /// Whether this has ended, now that there is that other trouble or none: without nl80211 nothing is known of the interface,
    /// and without that nothing of wpa_supplicant.
    func isOver(given trouble: Trouble?) -> Bool {
        switch (self, trouble) {
        case (_, nil), (.noWiFi, .noInterface), (.noWiFi, .noSupplicant), (.noInterface, .noSupplicant): true
        case (_, _): false
        }
    }

    /// A restart of wpa_supplicant takes a second, and at boot it may come after the agent.
    var patience: Duration {
        switch self {
        case .noWiFi, .noInterface: .zero
        case .noSupplicant: .seconds(5)
        }
    }
}

extension Trouble.SupplicantTrouble {
    /// Why nobody answers at a control socket.
    /// - Parameter programs: where wpa_supplicant may be installed.
    init(
        socket: String,
        programs: [String] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin"].map { $0 + "/wpa_supplicant" }
    ) {
        // As the agent's effective user, not the real one.
        if faccessat(AT_FDCWD, socket, R_OK | W_OK, AT_EACCESS) == 0 {
            self = .silent
        } else if errno == EACCES || errno == EPERM {
            self = .notPermitted
        } else {
            self = programs.contains { access($0, X_OK) == 0 } ? .notRunning : .notInstalled
        }
    }
}

/// What trouble there is, and what of it was told.
struct TroubleDesk {
    /// What was said, and not yet that it has ended.
    var told: Trouble?
    /// What is waited for silently, and until when.
    var waiting: Trouble?
    var patience: LoopTimer?
    var countryCheck: LoopTimer?
}
