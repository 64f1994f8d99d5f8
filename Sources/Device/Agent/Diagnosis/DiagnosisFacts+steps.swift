import AgentModel
import AppProtocol

// Findings as text, with remedies.
extension DiagnosisFacts {
    private typealias Step = Diagnosis.Step

    /// All layers, from the radio upwards.
    package var steps: [Diagnosis.Step] {
        [radioStep, associationStep, addressStep, gatewayStep, namesStep, uplinksStep] + targetSteps
    }

    private var radioStep: Step {
        guard let radio else { return .late(.radio) }
        guard radio.isSupported else {
            return .broken(
                .radio, "the kernel has no Wi-Fi (nl80211)",
                "Plug the Wi-Fi adapter in, or load the module cfg80211 and the adapter's driver.")
        }
        if let fault = radio.fault {
            return .broken(
                .radio, fault,
                radio.needsPowerCycle
                    ? "Power the device off and on."
                    : "Wait a minute. If that does not help, restart the device, or power it off and on."
            )
        }
        guard radio.isThere else {
            return .broken(
                .radio, "there is no interface \(radio.interface)",
                "Check that the Wi-Fi adapter is plugged in and that ALTNET_INTERFACE names it.")
        }
        switch radio.block {
        case .soft?:
            return .broken(
                .radio, "the radio of \(radio.interface) is blocked (rfkill)",
                "Set ALTNET_COUNTRY in /etc/altnet/altnet.conf and restart altnet, or run: sudo rfkill unblock wifi")
        case .hard?:
            return .broken(
                .radio, "the radio of \(radio.interface) is switched off by a switch on the device (rfkill)",
                "Switch it on.")
        case nil: break
        }
        guard radio.isUp else {
            return .broken(.radio, "\(radio.interface) is down", "Wait half a minute: the agent sets it up.")
        }
        if radio.isSupplicantAvailable, !radio.ownWays.isEmpty {
            return .doubtful(
                .radio, "\(radio.interface) is up; its firmware \(radio.ownWays.joined(separator: ", and "))",
                "Load brcmfmac with roamoff=1 feature_disable=0x282000: restart the device with altnet enabled, and "
                    + "remove other options of brcmfmac in /etc/modprobe.d (altnet's: 00-altnet-brcmfmac.conf).")
        }
        return radio.isSupplicantAvailable
            ? .good(.radio, "\(radio.interface) is up")
            : .broken(.radio, "wpa_supplicant does not answer", "Start wpa_supplicant for \(radio.interface).")
    }

    private var associationStep: Step {
        guard radio?.isGood != false else { return .pointless(.association) }
        switch association {
        case nil: return .late(.association)
        case .idle(.nothingStored):
            return .broken(.association, "no network is stored", "Add one with altnet backups or altnet switch.")
        case .idle(.onlyManual):
            return .broken(
                .association, "not connected, and all stored networks are manual",
                "Join one with altnet switch, or have the device join it: altnet backups set-options NAME --automatic.")
        case .notConnected(let count, let refused) where !refused.isEmpty:
            return .broken(
                .association,
                "not connected; searching for stored networks: \(count); \(refused.joined(separator: "; "))",
                "If you have changed the router, send the network's password again (altnet backups or altnet switch "
                    + "--new). If not, check your router: another access point may be using its name.")
        case .notConnected(let count, _):
            return .broken(
                .association, "not connected; searching for stored networks: \(count)",
                "Check that a router is on and in range, and that its password is the stored one.")
        case .joining(let name):
            return .doubtful(.association, "joining \(name)", "Wait a moment, then diagnose again.")
        case .joined(let name, let signal, let isWeak):
            let found = name + (signal.map { ", \($0) dBm" } ?? "")
            if let linkFault {
                return .doubtful(
                    .association, "\(found): \(linkFault)",
                    "Wait a few minutes. If that does not help, restart the router, and check its internet access.")
            }
            return isWeak
                ? .doubtful(.association, found + ": weak", "Move the device or the access point closer.")
                : .good(.association, found)
        }
    }

    private var addressStep: Step {
        guard isJoined else { return .pointless(.address) }
        guard let addresses else { return .late(.address) }
        let problems = addresses.problems.prefix(Self.mostProblems).map { "; \($0)" }.joined()
        let own = addresses.own.joined(separator: ", ") + problems
        guard !addresses.own.isEmpty else {
            return .broken(
                .address, "the network has given no address" + problems,
                "Wait a moment. If it still has none, check the router's DHCP, or restart the router.")
        }
        return addresses.hasRoute
            ? .good(.address, own)
            : .doubtful(
                .address, "\(own); the network has no router",
                "Servers in this network can be reached. For others, check the router's DHCP.")
    }

    private static let mostProblems = 3

    private var gatewayStep: Step {
        guard isJoined, addressStep.result == .good else { return .pointless(.gateway) }
        return switch gatewayAnswers {
        case nil: .late(.gateway)
        case true?: .good(.gateway, "the router answers")
        // Some gateways never answer, but forward packets.
        case false? where isBeyondGateway:
            .good(.gateway, "the router does not answer, but forwards traffic")
        case false?: .broken(.gateway, "the router does not answer", "Restart the router.")
        }
    }

    private var namesStep: Step {
        guard hasWayOut != false else { return .pointless(.names) }
        return switch names {
        case nil: .late(.names)
        case .nothingToFind?: .skipped(.names, "no name needs to be resolved")
        case .found(let name)?: .good(.names, "\(name) is resolved")
        case .notFound(let name, let problem)?:
            .broken(
                .names, "\(name): \(problem.words)",
                problem == .nameUnknown
                    ? "Check the name in the settings."
                    : "Restart the router; if that does not help, ask the internet provider.")
        }
    }

    /// The internet step, with the uplinks that failed beside the one in use.
    private var uplinksStep: Step {
        let step = internetStep
        guard step.result == .good, !failedUplinks.isEmpty else { return step }
        let failed = failedUplinks.sorted { $0.key < $1.key }.map { "; \($0.key): \($0.value.words)" }.joined()
        return .doubtful(
            .internet, step.found + failed, "Check the internet access of the router at the other end of the cable.")
    }

    private var internetStep: Step {
        guard hasWayOut != false else {
            guard let modem, modem.state != .connected else { return .pointless(.internet) }
            return .broken(
                .internet, "the modem of \(modem.interface) is not connected (\(modem.state.rawValue))",
                modem.state.remedy)
        }
        return switch internet {
        case nil: .late(.internet)
        case .notSet?:
            .skipped(
                .internet, "no server for the check is set, so only a sign-in that the network announces is seen",
                "Set ALTNET_VALIDATION_URL.")
        case .notAsked?: .skipped(.internet, "not checked: the budget for checks is used up")
        case .asked(.online, _)?: .good(.internet, isMetered ? "internet access, metered" : "internet access")
        case .asked(.captive(let portal), let signIn)?:
            .broken(
                .internet,
                "the network requires a sign-in" + (signIn.map { "; the device could not sign in: \($0)" } ?? ""),
                "Sign in" + (portal.map { " at \($0)" } ?? "") + ", or with altnet portal.")
        case .asked(.failed(let problem), _)?:
            .broken(
                .internet, "no internet access: \(problem.words)",
                "Check the router's connection to the internet.")
        }
    }

    private var targetSteps: [Step] {
        guard let targets else { return [hasWayOut == false ? .pointless(.target) : .late(.target)] }
        guard !targets.isEmpty else { return [.skipped(.target, "no server is set")] }
        return targets.map { target in
            let place = "\(target.name), \(target.place)"
            guard let problem = target.problem else { return .good(.target, "\(place) answers") }
            let remedy =
                switch problem {
                case .connectionRefused: "Check that the server runs and that its port is right."
                case .clockNotSet: "Check that the device reaches a time server (timedatectl)."
                default: "Check the server, and its name and port in ALTNET_TARGETS."
                }
            return .broken(.target, "\(place): \(problem.words)", remedy)
        }
    }
}

extension Diagnosis.Step {
    fileprivate static func good(_ layer: Diagnosis.Layer, _ found: String) -> Self {
        Self(layer: layer, result: .good, found: found)
    }

    fileprivate static func doubtful(_ layer: Diagnosis.Layer, _ found: String, _ remedy: String) -> Self {
        Self(layer: layer, result: .doubtful, found: found, remedy: remedy)
    }

    fileprivate static func broken(_ layer: Diagnosis.Layer, _ found: String, _ remedy: String) -> Self {
        Self(layer: layer, result: .broken, found: found, remedy: remedy)
    }

    fileprivate static func skipped(_ layer: Diagnosis.Layer, _ found: String, _ remedy: String? = nil) -> Self {
        Self(layer: layer, result: .skipped, found: found, remedy: remedy)
    }

    fileprivate static func pointless(_ layer: Diagnosis.Layer) -> Self {
        .skipped(layer, "not checked: an earlier check failed")
    }

    fileprivate static func late(_ layer: Diagnosis.Layer) -> Self {
        .skipped(layer, "not checked: no time left")
    }
}

extension ModemStatus.State {
    fileprivate var remedy: String {
        switch self {
        case .locked: "Enter the PIN of the SIM: sudo mmcli -i 0 --pin=PIN"
        case .failed: "Check the SIM and the modem: mmcli -m any"
        case .unknown, .initializing, .disabled, .disabling, .enabling, .enabled, .searching, .registered,
            .disconnecting,
            .connecting, .connected:
            "Connect it with NetworkManager, or run: sudo mmcli -m any --simple-connect=apn=APN"
        }
    }
}
