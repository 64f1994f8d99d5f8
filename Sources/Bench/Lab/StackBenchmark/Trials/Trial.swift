/// One thing that happens to a device, and what is measured of it.
public struct Trial: Sendable {
    public let name: String
    /// Regulatory domain: it decides how many channels there are to be scanned.
    let country: String
    let plan: House.Plan
    /// Whether it is an hour of waiting, which nobody has in clock time.
    public let isVirtualOnly: Bool
    /// Whether a link that lives is left for another: then a second station interface makes a difference.
    let isMove: Bool
    public let figures: [Figure]
    let play: @Sendable (House) async throws -> [Figure: Measured]

    init(
        _ name: String, country: String = "CN", plan: House.Plan = House.Plan(), isVirtualOnly: Bool = false,
        isMove: Bool = false, figures: [Figure], play: @escaping @Sendable (House) async throws -> [Figure: Measured]
    ) {
        self.name = name
        self.country = country
        self.plan = plan
        self.isVirtualOnly = isVirtualOnly
        self.isMove = isMove
        self.figures = figures
        self.play = play
    }

    public static let all: [Trial] =
        [
            hardLoss(.hardLoss24CN, channel: 6, country: "CN"), hardLoss(.hardLoss5CN, channel: 36, country: "CN"),
            hardLoss(.hardLoss24US, channel: 6, country: "US"), hardLoss(.hardLoss5US, channel: 36, country: "US"),
            weakSignal, homeReturns, coldStart, wrongPassword(.wrongPassword40, away: .seconds(40)),
            wrongPassword(.wrongPassword300, away: .seconds(300)), restart,
            deauthentications(.deauthentications, count: 10, every: .seconds(25)),
            deauthentications(.deauthenticationStorm, count: 20, every: .seconds(5)), deadInternet, command, idle,
        ]

    /// Plays it once, on a fresh air.
    ///
    /// - Parameter number: of the run, from 0.
    public func run(_ stack: StackName, number: Int) async throws -> [Reading] {
        let measured = try await Lab.run(
            "\(name) \(stack.rawValue)", accessPoints: 2, country: country, spare: stack.spare
        ) { lab in
            try await play(House(lab, plan: plan, stack: stack, phase: Phase(ofRun: number)))
        }
        return measured.map { Reading($0, $1) }
    }
}
