{# Asks Assay before a run reads, and tells it what a run has written.

   A source or a model names its dataset in its config:  meta: {assay: raw.orders}
   The window is the variable `day`, a partition's key. #}

{% macro assay_on_run_start() %}
  {% if execute and flags.WHICH in ('run', 'build') %}
    {% set read = [] %}
    {% for id in selected_resources if id in graph.nodes %}
      {% for input in graph.nodes[id].depends_on.nodes if input in graph.sources %}
        {% set dataset = assay_dataset(graph.sources[input]) %}
        {% if dataset and dataset not in read %}{% do read.append(dataset) %}{% endif %}
      {% endfor %}
    {% endfor %}
    {% for dataset in read %}
      {% set answer = assay_ask("assay_gate(" ~ assay_text(project_name) ~ ", " ~ assay_text(dataset) ~ ", " ~ assay_text(var('day')) ~ ")") %}
      {% do log("Assay: " ~ dataset ~ " " ~ var('day') ~ ": " ~ answer, info=True) %}
      {% if answer.startswith('block') %}
        {% do exceptions.raise_compiler_error("Assay: " ~ dataset ~ " of " ~ var('day') ~ " must not be read: " ~ answer) %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}

{% macro assay_on_run_end(results) %}
  {% if execute and flags.WHICH in ('run', 'build') %}
    {% for result in results if result.status == 'success' and result.node.resource_type == 'model' %}
      {% set dataset = assay_dataset(result.node) %}
      {% if dataset %}
        {% set answer = assay_ask("assay_completed(" ~ assay_text(project_name) ~ ", " ~ assay_text(dataset) ~ ", " ~ assay_text(var('day')) ~ ", " ~ var('assay_wait', 60) ~ ")") %}
        {% do log("Assay: completed " ~ dataset ~ " " ~ var('day') ~ ": " ~ answer, info=True) %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}

{% macro assay_dataset(node) %}{% do return(node.config.get('meta', {}).get('assay') or node.get('meta', {}).get('assay')) %}{% endmacro %}

{% macro assay_ask(call) %}{% do return(run_query("select " ~ call).rows[0][0]) %}{% endmacro %}

{% macro assay_text(value) %}{% do return("'" ~ (value | string | replace("'", "''")) ~ "'") %}{% endmacro %}
