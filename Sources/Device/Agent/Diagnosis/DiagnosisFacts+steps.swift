import AgentModel
import AppProtocol
import Connectivity

// Findings as text, with remedies.
extension DiagnosisFacts {
    private typealias Step = Diagnosis.Step

    /// All layers, from the radio upwards.
    package var steps: [Diagnosis.Step] {
        [radioStep, associationStep, addressStep, gatewayStep, namesStep, internetStep] + targetSteps
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
                    : "Wait a minute; if it stays so, restart the device, and power it off and on if that does not help."
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
            return .broken(.radio, "\(radio.interface) is down", "Wait half a minute for it to be brought up.")
        }
        if radio.isSupplicantAvailable, !radio.ownWays.isEmpty {
            return .doubtful(
                .radio, "\(radio.interface) is up; its firmware \(radio.ownWays.joined(separator: ", and "))",
                "Load brcmfmac with roamoff=1 feature_disable=0x282000, which a restart does where altnet is enabled "
                    + "(/etc/modprobe.d/00-altnet-brcmfmac.conf) and no other file says otherwise.")
        }
        return radio.isSupplicantAvailable
            ? .good(.radio, "\(radio.interface) is up")
            : .broken(.radio, "wpa_supplicant does not answer", "Start wpa_supplicant for \(radio.interface).")
    }

    private var associationStep: Step {
        guard radio?.isGood != false else { return .pointless(.association) }
        switch association {
        case nil: return .late(.association)
        case .notConnected(known: 0, _):
            return .broken(.association, "no network is known", "Add one with altnet backups or altnet switch.")
        case .notConnected(let count, let refused) where !refused.isEmpty:
            return .broken(
                .association,
                "not connected; known networks that are looked for: \(count); \(refused.joined(separator: "; "))",
                "If you have changed the router, send the network's password again (altnet backups or altnet switch --new). "
                    + "If not, look for your own router: this may be another one under its name.")
        case .notConnected(let count, _):
            return .broken(
                .association, "not connected; known networks that are looked for: \(count)",
                "Check that a router is on and near, and that its password is the one that is stored.")
        case .joining(let name):
            return .doubtful(.association, "joining \(name)", "Wait a moment, and ask again.")
        case .joined(let name, let signal, let isWeak):
            let found = name + (signal.map { ", \($0) dBm" } ?? "")
            return isWeak
                ? .doubtful(.association, found + ": weak", "Move the device or the access point closer.")
                : .good(.association, found)
        }
    }

    private var addressStep: Step {
        guard isJoined else { return .pointless(.address) }
        guard let addresses else { return .late(.address) }
        let own = addresses.own.joined(separator: ", ")
        guard !own.isEmpty else {
            return .broken(
                .address, "the network has given no address",
                "Wait a moment; if it stays so, check the router's DHCP, or restart the router.")
        }
        return addresses.hasRoute
            ? .good(.address, own) : .broken(.address, "\(own), and no route to anywhere", "Check the router's DHCP.")
    }

    private var gatewayStep: Step {
        guard isJoined, addressStep.result == .good else { return .pointless(.gateway) }
        return switch gatewayAnswers {
        case nil: .late(.gateway)
        case true?: .good(.gateway, "the router answers")
        // Some gateways never answer but forward packets.
        case false? where isBeyondGateway:
            .good(.gateway, "the router itself does not answer, and lets through")
        case false?: .broken(.gateway, "the router does not answer", "Restart the router.")
        }
    }

    private var namesStep: Step {
        guard hasWayOut != false else { return .pointless(.names) }
        return switch names {
        case nil: .late(.names)
        case .nothingToFind?: .skipped(.names, "no name has to be found")
        case .found(let name)?: .good(.names, "\(name) is found")
        case .notFound(let name, let problem)?:
            .broken(
                .names, "\(name): \(problem.words)",
                problem == .nameUnknown
                    ? "Check the name in the settings."
                    : "Restart the router; if that does not help, ask the internet provider.")
        }
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
        case .notSet?: .skipped(.internet, "no source of validation is set")
        case .notAsked?: .skipped(.internet, "not asked: the budget for questions is used up")
        case .asked(.online, _)?: .good(.internet, "the internet is reached")
        case .asked(.captive(let portal), let signIn)?:
            .broken(
                .internet,
                "the network wants a user to sign in" + (signIn.map { "; the device could not: \($0)" } ?? ""),
                "Sign in" + (portal.map { " at \($0)" } ?? "") + ", or with altnet portal.")
        case .asked(.failed(let problem), _)?:
            .broken(
                .internet, "the internet is not reached: \(problem.words)",
                "Check the router's connection to the internet.")
        }
    }

    private var targetSteps: [Step] {
        guard let targets else { return [hasWayOut == false ? .pointless(.target) : .late(.target)] }
        guard !targets.isEmpty else { return [.skipped(.target, "no server is set")] }
        return targets.map { target in
            let place = "\(target.name), \(target.place)"
            return switch target.problem {
            case nil: .good(.target, "\(place) answers")
            case .connectionRefused?:
                .broken(
                    .target, "\(place): \(ReachProblem.connectionRefused.words)",
                    "Check that the server runs and that its port is right.")
            case let problem?:
                .broken(
                    .target, "\(place): \(problem.words)",
                    "Check the server, and its name and port in ALTNET_TARGETS.")
            }
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

    fileprivate static func skipped(_ layer: Diagnosis.Layer, _ found: String) -> Self {
        Self(layer: layer, result: .skipped, found: found)
    }

    fileprivate static func pointless(_ layer: Diagnosis.Layer) -> Self {
        .skipped(layer, "not looked at: something below is not as it should be")
    }

    fileprivate static func late(_ layer: Diagnosis.Layer) -> Self {
        .skipped(layer, "not looked at: no time was left")
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
            "Connect it, with NetworkManager or: sudo mmcli -m any --simple-connect=apn=APN"
        }
    }
}
