import AgentModel

// A world that is changed while a device lives in it. A world is a function of time, so another one takes its place.
extension World {
    /// The world in which this happens at `now`, and which was as this one until then.
    ///
    /// What a change replaces is left out once it is past, so a world that is changed for days does not grow.
    /// - Parameter changes: in their order.
    /// - Returns: the world, and how many of its happenings at `now` are new.
    func changed(by changes: [Scenario.Change], at now: Int64) -> (world: World, coming: Int) {
        var scenario = scenario
        var new: [Scenario.Change] = []
        for change in changes {
            new += beginning(of: change, at: now) + [change]
            let subject = Subject(change)
            scenario.happenings.removeAll { old in
                let end = (old.at + old.change.length).milliseconds
                return end < now - SimulatedDevice.noticeTime && (Subject(old.change) == subject || old.change.isBrief)
            }
        }
        scenario.happenings += new.map { Scenario.Happening(at: .milliseconds(now), $0) }
        return (World(scenario, seed: seed), new.count)
    }

    /// The same with other networks that the device knows.
    func knowing(_ networks: [Scenario.Network]) -> World {
        var scenario = scenario
        scenario.networks = networks
        return World(scenario, seed: seed)
    }

    /// Where a change over some time sets out from, as what led there may be left out.
    private func beginning(of change: Scenario.Change, at now: Int64) -> [Scenario.Change] {
        switch change {
        case .signal(let name, _, let time) where time > .zero:
            guard let index = scenario.accessPoints.firstIndex(where: { $0.name == name }),
                case .levels(let levels) = tracks[index].place
            else { return [] }
            let level = levels.step(at: now).value.value(at: now)
            return [.signal(ap: name, Int(level.rounded()), over: .zero)]
        case .move(_, let time) where time > .zero:
            return [.move(to: motion.step(at: now).value.position(at: now), over: .zero)]
        default: return []
        }
    }
}

/// What a change is about: a later one about the same takes its place.
private enum Subject: Hashable {
    case power(String), signal(String), internet(String), address(String), full(String), password(String)
    case told(SSID)
    case place, uplink
    /// Each by itself.
    case other

    init(_ change: Scenario.Change) {
        self =
            switch change {
            case .power(let name, _): .power(name)
            case .signal(let name, _, _): .signal(name)
            case .internet(let name, _): .internet(name)
            case .address(let name, _): .address(name)
            case .full(let name, _): .full(name)
            case .password(let name, _): .password(name)
            case .newPassword(let ssid, _): .told(ssid)
            case .move: .place
            case .otherUplink: .uplink
            case .interference, .command, .suspend, .supplicantDies, .restart: .other
            }
    }
}

extension Scenario.Change {
    /// Whether nothing is left of it once its time is over.
    fileprivate var isBrief: Bool {
        switch self {
        case .interference, .command, .suspend, .supplicantDies, .restart: true
        case .power, .signal, .internet, .address, .full, .password, .newPassword, .move, .otherUplink: false
        }
    }
}
