import AgentModel

extension World {
    static func motion(of scenario: Scenario, _ happenings: [Scenario.Happening]) -> Steps<Motion> {
        let still = Scenario.Point(x: 0, y: 0)
        var motion = Steps(Motion(origin: 0, start: scenario.position, velocity: still))
        for happening in happenings {
            guard case .move(let target, let duration) = happening.change else { continue }
            let start = happening.at.milliseconds
            let time = max(0, duration.milliseconds)
            let origin = motion.step(at: start).value.position(at: start)
            if time > 0 {
                let velocity = Scenario.Point(
                    x: (target.x - origin.x) / Double(time), y: (target.y - origin.y) / Double(time))
                motion.set(Motion(origin: start, start: origin, velocity: velocity), from: start)
            }
            motion.set(Motion(origin: start + time, start: target, velocity: still), from: start + time)
        }
        return motion
    }

    static func demand(_ happenings: [Scenario.Happening]) -> Steps<Bool> {
        var demand = Steps(true)
        var hasOtherUplink = false
        var asleepUntil: Int64 = 0
        for happening in happenings {
            let now = happening.at.milliseconds
            switch happening.change {
            case .otherUplink(let uplink): hasOtherUplink = uplink != nil
            case .suspend(let duration): asleepUntil = max(asleepUntil, now + max(0, duration.milliseconds))
            default: continue
            }
            demand.set(!hasOtherUplink && asleepUntil <= now, from: now)
            if asleepUntil > now { demand.set(!hasOtherUplink, from: asleepUntil) }
        }
        return demand
    }

    static func interference(in scenario: Scenario, _ happenings: [Scenario.Happening]) -> [Int: Steps<Double>] {
        var result: [Int: Steps<Double>] = [:]
        for frequency in Set(scenario.accessPoints.map(\.frequency.megahertz)) {
            var edges: [(at: Int64, clear: Double, count: Int)] = []
            for happening in happenings {
                guard case .interference(let range, let loss, let duration) = happening.change,
                    range.contains(frequency), loss > 0, duration > .zero
                else { continue }
                // Delivered shares of several sources multiply. Their logarithms can be subtracted at a source's end.
                let clear = logarithm(of: 1 - min(1, loss))
                let start = happening.at.milliseconds
                edges.append((start, clear, 1))
                edges.append((start + duration.milliseconds, -clear, -1))
            }
            guard !edges.isEmpty else { continue }
            var steps = Steps(0.0)
            var sum = 0.0
            var count = 0
            for edge in edges.sorted(by: { ($0.at, $0.count) < ($1.at, $1.count) }) {
                count += edge.count
                sum = count == 0 ? 0 : sum + edge.clear
                steps.set(1 - exponential(of: sum), from: edge.at)
            }
            result[frequency] = steps
        }
        return result
    }

    static func tracks(of scenario: Scenario, _ happenings: [Scenario.Happening]) -> [Track] {
        var keys = Keys()
        var states = scenario.accessPoints.map { accessPoint in
            let known = scenario.networks.filter { $0.ssid == accessPoint.ssid }
            return StateHistory(accessPoint, known: known.map { keys.key(for: $0.password) }, keys: &keys)
        }
        var levels = scenario.accessPoints.map { Steps(Ramp(origin: 0, value: $0.place.level ?? 0, slope: 0)) }
        let indices = Dictionary(scenario.accessPoints.enumerated().map { ($1.name, $0) }) { first, _ in first }
        for happening in happenings {
            let now = happening.at.milliseconds
            switch happening.change {
            case .power(let name, let isOn): indices[name].map { states[$0].change(at: now) { $0.isOn = isOn } }
            case .internet(let name, let internet):
                indices[name].map { states[$0].change(at: now) { $0.internet = internet } }
            case .address(let name, let time):
                indices[name].map { states[$0].change(at: now) { $0.addressTime = time } }
            case .full(let name, let isFull): indices[name].map { states[$0].change(at: now) { $0.isFull = isFull } }
            case .password(let name, let password):
                let key = keys.key(for: password)
                indices[name].map { states[$0].change(at: now) { $0.key = key } }
            case .newPassword(let ssid, let password):
                let key = keys.key(for: password)
                for index in states.indices where scenario.accessPoints[index].ssid == ssid {
                    states[index].provide(key, at: now)
                }
            case .signal(let name, let level, let duration):
                indices[name].map { levels[$0].ramp(to: Double(level), from: now, over: duration.milliseconds) }
            case .move, .interference, .command, .otherUplink, .suspend, .supplicantDies, .restart: break
            }
        }
        return scenario.accessPoints.indices.map { index in
            track(index, in: scenario, states: states[index].steps, levels: levels[index])
        }
    }

    private static func track(
        _ index: Int, in scenario: Scenario, states: Steps<AccessPointState>, levels: Steps<Ramp>
    ) -> Track {
        let accessPoint = scenario.accessPoints[index]
        let known = scenario.networks.indices.filter { scenario.networks[$0].ssid == accessPoint.ssid }
        let alike = known.first {
            (scenario.networks[$0].password == nil) == (accessPoint.password == nil)
        }
        return Track(
            bssid: bssid(index), ssid: accessPoint.ssid, frequency: accessPoint.frequency,
            loss: FrameLoss(on: accessPoint.frequency), network: alike ?? known.first,
            isHidden: known.contains { scenario.networks[$0].isHidden },
            isInReach: scenario.radio.hasFiveGigahertz || accessPoint.frequency.band == .twoPointFour,
            states: states, place: accessPoint.place.track(levels: levels),
            shadowing: max(0, accessPoint.shadowing), shadowingTime: max(1, accessPoint.shadowingTime.milliseconds),
            fading: max(0, accessPoint.fading))
    }

    /// Returns a locally administered address with the access point's number.
    private static func bssid(_ index: Int) -> BSSID {
        let number = UInt32(truncatingIfNeeded: index + 1)
        let bytes = [2, 0] + (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        guard let bssid = BSSID(bytes: bytes) else { preconditionFailure("six bytes are an address") }
        return bssid
    }
}

extension Scenario.AccessPoint.Placement {
    fileprivate var level: Double? {
        guard case .signal(let level) = self else { return nil }
        return Double(level)
    }

    fileprivate func track(levels: Steps<Ramp>) -> World.Track.Placement {
        switch self {
        case .signal: .levels(levels)
        case .position(let point, let atOneMetre, let exponent):
            .position(point, atOneMetre: Double(atOneMetre), exponent: exponent)
        }
    }
}

extension Steps<Ramp> {
    fileprivate mutating func ramp(to level: Double, from start: Int64, over time: Int64) {
        if time > 0 {
            let value = step(at: start).value.value(at: start)
            set(Ramp(origin: start, value: value, slope: (level - value) / Double(time)), from: start)
        }
        let end = start + Swift.max(0, time)
        set(Ramp(origin: end, value: level, slope: 0), from: end)
    }
}
