"""Function words: articles, pronouns, prepositions, conjunctions, auxiliaries, particles and punctuation, lower case.

Our own lists of the common ones, for METEOR, which counts them for less than words with content. METEOR's own lists
are counted in a corpus and are not ours to give; `--function-words` reads them, or any other.
"""

VERSION = 1  # signed, because a score changes with its list

_PUNCTUATION = ". , ; : ? ! ' \" ` ( ) [ ] - – — … / & % ’ ‘ “ ” „ « »"

_ENGLISH = """
a an the this that these those some any no each every all both another such other
i you he she it we they me him her us them my your his its our their who whom whose which what
of in to for on with at by from about into over after before between under during through against without within upon
and or but if than as because while when where so nor though although whether until since
be am is are was were been being have has had having do does did will would can could may might shall should must
not n't 's 're 've 'll 'd 'm s t there here then also only just very too out up down off more most how why
"""

_GERMAN = """
der die das des dem den ein eine einer eines einem einen kein keine keinen keiner dieser diese dieses diesem diesen
jeder jede jedes alle allen aller
ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich man mein meine dein seine sein seiner seinen
seinem ihre ihrer ihren ihrem unser unsere wer was welche
in im ins an am auf aus bei beim mit nach seit von vom vor zu zum zur für durch gegen ohne um über unter zwischen
während wegen bis
und oder aber sondern denn dass daß weil wenn ob als wie wo damit doch so da
bin ist sind war waren wäre sei gewesen habe hat haben hatte hatten hätte wird werden wurde wurden worden würde würden
kann können konnte muss müssen soll sollen sollte will wollen
nicht auch nur noch schon sehr mehr hier dort dann nun ja nein
"""

_FRENCH = """
le la les l un une des du de d ce cet cette ces tout tous toute toutes aucun aucune chaque quelques
je j tu il elle on nous vous ils elles me m te t se s lui leur leurs y en moi toi soi mon ma mes ton ta tes son sa ses
notre nos votre vos qui que qu quoi dont où celui celle ceux
à au aux dans par pour sur avec sans sous entre vers chez contre depuis pendant avant après
et ou mais donc or ni car si comme quand lorsque parce puisque
suis es est sommes êtes sont été était étaient sera être ai as a avons avez ont eu avait avaient avoir fait faire peut
peuvent pouvoir doit doivent
ne n pas plus moins très bien aussi même encore là ici c ça cela d' l' c' j' n' qu' s' m' t'
"""

_SPANISH = """
el la los las lo un una unos unas al del este esta esto estos estas ese esa eso esos esas todo toda todos todas
yo tú él ella ello nosotros ustedes ellos ellas usted me te se le les nos os mi mis tu tus su sus nuestro nuestra
que quien quienes cual cuales cuyo qué
a ante bajo con contra de desde en entre hacia hasta para por según sin sobre tras
y e o u pero sino ni si porque pues cuando como donde mientras aunque
soy eres es somos son fue fueron era eran sea ser sido está están estaba estar he has ha hemos han había haber hay
puede pueden poder debe deben
no sí más menos muy también ya solo sólo así
"""

_CZECH = """
ten ta to ti ty tento tato toto tyto toho tomu tom tím těch těm všechny vše každý jeho její jejich svůj svou své svých
já ty on ona ono my vy oni mě mi tě ho mu ji jí nás nám vás vám je jim se si sebe kdo co který která které kteří
kterou kterých
v ve na do z ze s se k ke o od u za po pro při před přes mezi nad pod bez podle
a i nebo ale však ani ani že aby protože když jestli zda než jako jak kde kdy proto tak
jsem jsi je jsme jste jsou být byl byla bylo byli byly bude budou by bych má mají mít měl může mohou
ne není nejsou už jen také ještě více velmi zde tam
"""

FUNCTION_WORDS = {
    language: frozenset(f"{words} {_PUNCTUATION}".split())
    for language, words in {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH, "cs": _CZECH}.items()
}
