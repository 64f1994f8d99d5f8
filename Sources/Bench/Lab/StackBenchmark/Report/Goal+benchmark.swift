import Measuring

/// What altnet wants to reach, each held against the medians of one run of the benchmark. A goal of which something was
/// not measured is left out.
extension Goal {
    static func all(of runs: [Run], in time: Run.Time) -> [Goal] {
        let figures = Medians(runs: runs, time: time)
        return [hardLoss(figures), moves(figures), returns(figures), rest(figures)].flatMap(\.self)
    }

    private static func hardLoss(_ figures: Medians) -> [Goal] {
        let losses: [Figure] = [.hardLoss24CN, .hardLoss5CN, .hardLoss24US, .hardLoss5US]
        let own = losses.compactMap { figures.altnet($0) }.max()
        let shares = losses.compactMap { figures.share($0, of: .iwd) }.max()
        return [
            Goal("hard loss to ping, the slowest of all: at most 1.0 s", own, "s", atMost: 1),
            Goal("and at most half of iwd's", shares, "of iwd's", atMost: 0.5),
        ].compactMap(\.self)
    }

    private static func moves(_ figures: Medians) -> [Goal] {
        [
            Goal("weak signal: on the stronger network within 12 s", figures.altnet(.weakSignal), "s", atMost: 12),
            Goal("gap of that move, one radio: at most 0.5 s", figures.altnet(.weakSignalGap), "s", atMost: 0.5),
            Goal(
                "pings lost in that move with two stations: none", figures[.weakSignalLost, .altnetSpare], "",
                atMost: 0),
            Goal(
                "pings lost in a commanded switch with two stations: none", figures[.commandLost, .altnetSpare], "",
                atMost: 0),
            Goal("dead internet: elsewhere within 15 s", figures.altnet(.deadInternet), "s", atMost: 15),
            // 30 s of confirmation (ALTNET_RETURN_CONFIRM_S) and 5.
            Goal(
                "preferred network returns: within the hold of 30 s and 5 s", figures.altnet(.homeReturns), "s",
                atMost: 35),
        ].compactMap(\.self)
    }

    private static func returns(_ figures: Medians) -> [Goal] {
        let cases: [Figure] = [.wrongPassword40, .wrongPassword300]
        return [
            Goal(
                "wrong password, home returns: at most 2.0 s", cases.compactMap { figures.altnet($0) }.max(), "s",
                atMost: 2),
            Goal(
                "and at most a quarter of the best peer's", cases.compactMap { figures.shareOfBestPeer($0) }.max(),
                "of the best", atMost: 0.25),
            Goal(
                "deauthentications: without answers no longer than iwd",
                [Figure.deauthentications, .deauthenticationStorm].compactMap { figures.share($0, of: .iwd) }.max(),
                "of iwd's", atMost: 1),
        ].compactMap(\.self)
    }

    private static func rest(_ figures: Medians) -> [Goal] {
        func beyondSupplicant(_ figure: Figure, _ supplicant: Figure) -> Double? {
            guard let own = figures.altnet(figure), let alone = figures[supplicant, .supplicant] else { return nil }
            return own - alone
        }
        return [
            Goal("cold start no slower than iwd", figures.share(.coldStart, of: .iwd), "of iwd's", atMost: 1),
            Goal(
                "memory: at most three quarters of NetworkManager's", figures.share(.memory, of: .networkManager),
                "of it", atMost: 0.75),
            Goal(
                "context switches in an idle minute beyond wpa_supplicant's own: at most 30",
                beyondSupplicant(.idleSwitches, .supplicantSwitches), "", atMost: 30),
            Goal(
                "processor time in an idle minute beyond wpa_supplicant's own: at most 10 ms",
                beyondSupplicant(.idleProcessor, .supplicantProcessor), "ms", atMost: 10),
        ].compactMap(\.self)
    }

    private init?(_ text: String, _ measured: Double?, _ unit: String, atMost limit: Double) {
        guard let measured else { return nil }
        self.init(text: text, measured: measured, unit: unit, isMet: measured <= limit)
    }
}

/// Medians by figure and stack.
struct Medians {
    let runs: [Run]
    let time: Run.Time

    subscript(figure: Figure, stack: StackName) -> Double? { runs.summary(figure, of: stack, in: time)?.median }

    func altnet(_ figure: Figure) -> Double? { self[figure, .altnet] }

    /// altnet's as a part of another's: 0 where the other never came there.
    func share(_ figure: Figure, of stack: StackName) -> Double? {
        guard let own = altnet(figure), let other = self[figure, stack] else { return nil }
        return own.isFinite ? own / other : .infinity
    }

    func shareOfBestPeer(_ figure: Figure) -> Double? {
        let peers = StackName.allCases.filter { !$0.isAltnet && self[figure, $0] != nil }
        return peers.compactMap { share(figure, of: $0) }.max()
    }
}
